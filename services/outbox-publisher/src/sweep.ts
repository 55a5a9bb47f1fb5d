import { type Db, expireRecords, healEntries, sweepLeases, wakeFlows, wakeSleepingFlows } from '@tidings/db';
import { now } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';

/** What sweeping needs. */
export type SweepContext = { readonly db: Db; readonly log: Logger; readonly metrics: Metrics };

const PAGE = 500;

const LETTER_SOURCES: Readonly<Record<string, 'AMBIGUOUS' | 'EXPIRED'>> = { HELD: 'AMBIGUOUS', EXPIRED: 'EXPIRED' };

/**
 * One sweep: leases that ran out, records that came too late, outbox entries that were lost, flows that sleep through their due time.
 * Any number of publishers may sweep at once: rows are taken by SKIP LOCKED. Each step is done also when another fails; the first failure is thrown at the end.
 */
export async function sweep(context: SweepContext, stopping: AbortSignal): Promise<void> {
	const steps = [
		() => sweepRecords(context, stopping),
		() => expire(context, stopping),
		() => healOutbox(context, stopping),
		() => wakeSleepingFlows(context.db.pool),
	];
	const failures: unknown[] = [];
	for (const step of steps) await step().catch((error: unknown) => failures.push(error));
	if (failures.length > 0) throw failures[0];
}

async function expire({ db, log, metrics }: SweepContext, stopping: AbortSignal): Promise<void> {
	await pages(stopping, async () => {
		const expired = await expireRecords(db.pool, PAGE);
		if (expired.length > 0) log.warn({ records: expired.length }, 'records came too late and are EXPIRED');
		for (const { attemptNo, lettered } of expired) {
			metrics.attemptsPerRecord.observe({ channel: 'mail', outcome: 'expired' }, attemptNo);
			if (lettered) metrics.deadLettersTotal.inc({ source: 'EXPIRED', channel: 'mail' });
		}
		return expired.length;
	});
}

async function sweepRecords({ db, log, metrics }: SweepContext, stopping: AbortSignal): Promise<void> {
	await pages(stopping, async () => {
		const swept = await sweepLeases(db.pool, PAGE);
		for (const one of swept) {
			metrics.sweeperRescuesTotal.inc({ kind: 'record', to: one.status as 'RETRY' });
			if (one.lettered) metrics.deadLettersTotal.inc({ source: LETTER_SOURCES[one.status] ?? 'SEND_EXHAUSTED', channel: 'mail' });
			if (one.status === 'DEAD_LETTER') metrics.attemptsPerRecord.observe({ channel: 'mail', outcome: 'dead_letter' }, one.attemptNo);
			if (one.status === 'EXPIRED') metrics.attemptsPerRecord.observe({ channel: 'mail', outcome: 'expired' }, one.attemptNo);
			log.warn({ recordId: one.id, to: one.status }, 'a lease ran out: its worker did not come back');
		}
		const due = swept.filter((one) => one.dueAt !== null);
		if (due.length > 0)
			await wakeFlows(
				db.pool,
				due.map((one) => ({ flowId: one.flowId, dueAt: null })),
			);
		return swept.length;
	});
	metrics.sweepLastSuccessTimestampSeconds.set({ kind: 'record' }, now().getTime() / 1000);
}

async function healOutbox({ db, log, metrics }: SweepContext, stopping: AbortSignal): Promise<void> {
	await pages(stopping, async () => {
		const healed = await healEntries(db.pool, PAGE);
		for (const one of healed) metrics.sweeperRescuesTotal.inc({ kind: one.from === 'PUBLISHED' ? 'undelivered' : 'outbox', to: 'NEW' });
		if (healed.length > 0) {
			log.warn({ entries: healed.length }, 'outbox entries are published again: their publisher or their message was lost');
			await wakeFlows(
				db.pool,
				healed.map((one) => ({ flowId: one.flowId, dueAt: null })),
			);
		}
		return healed.length;
	});
	for (const kind of ['outbox', 'undelivered'] as const) metrics.sweepLastSuccessTimestampSeconds.set({ kind }, now().getTime() / 1000);
}

async function pages(stopping: AbortSignal, page: () => Promise<number>): Promise<void> {
	while (!stopping.aborted && (await page()) >= PAGE);
}
