import { type Settled, type Settlement, settleLate, settleRecords, wakeFlows } from '@tidings/db';
import { monotonic, now } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import type { Ended } from './ended.js';
import { giveRoomBack } from './give-room-back.js';
import { giveUp } from './give-up.js';
import { judgeGates, reportToGates } from './judge-gates.js';
import { isPassing } from './persist.js';

/**
 * Settles attempts together, and acknowledges their messages after the commit (law 4). Two attempts of one record never share a statement.
 * What the database refuses is parted from the rest by halves: were it all given up with the one, two hundred mails would be sent again.
 */
export async function settleEnded(context: DeliveryContext, items: readonly Ended[]): Promise<void> {
	const once = new Map(items.map((item) => [item.record.id, item]));
	const again = items.filter((item) => once.get(item.record.id) !== item);
	if (again.length > 0) await settleEnded(context, again);
	const found = await judged(context, [...once.values()]);
	for (const { onJudged } of found) onJudged?.();
	await settleApart(context, found);
	await giveRoomBack(
		context,
		found.map((one) => one.unused),
	);
}

/** When a gate cannot be moved its attempts are settled all the same: each by itself. */
async function judged(context: DeliveryContext, items: readonly Ended[]): Promise<readonly Ended[]> {
	try {
		return await judgeGates(context, items);
	} catch (error) {
		context.log.error({ err: error }, 'a gate could not be closed');
		return items;
	}
}

async function settleApart(context: DeliveryContext, items: readonly Ended[]): Promise<void> {
	const { metrics, route } = context;
	try {
		await settle(context, items);
	} catch (error) {
		if (items.length > 1 && !isPassing(error)) {
			const half = items.length >> 1;
			await settleApart(context, items.slice(0, half));
			await settleApart(context, items.slice(half));
			return;
		}
		for (const { settling } of items) {
			settling.fail('unexpected');
			settling.end();
		}
		const messages = items.map((item) => item.message);
		await giveUp(context, messages, error);
		return;
	}
	// failpoint: settled
	for (const { message, settling } of items) {
		settling.end();
		metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'acked' });
		metrics.processDurationSeconds.observe({ route }, (monotonic() - message.receivedAt) / 1000);
		message.ack();
	}
	await reportToGates(context, items);
}

/** Those that lost their fence go by the late road. */
async function settle(context: DeliveryContext, items: readonly Ended[]): Promise<void> {
	const { db, metrics, persist } = context;
	const settled = await persist(async () => {
		const began = monotonic();
		const rows = await settleRecords(
			db.pool,
			items.map((item) => item.settlement),
		);
		metrics.settleDurationSeconds.observe({ channel: channelLabel(context.provider.channel) }, (monotonic() - began) / 1000);
		return rows;
	});
	const won = new Map(settled.map((one) => [one.id, one]));
	const lost = items.filter((item) => !won.has(item.record.id)).map((item) => item.settlement);
	if (lost.length > 0) {
		metrics.transitionsLostTotal.inc({ from: 'SENDING', by: 'worker' }, lost.length);
		for (const one of await persist(() => settleLate(db.pool, lost))) won.set(one.id, one);
	}
	await wake(context, settled);
	for (const item of items) report(context, item, won.get(item.record.id));
}

/** Tells the publishers of retries, after the commit. All is settled whether it works or not: they look for flows that sleep through their time by themselves. */
async function wake({ db, persist, log }: DeliveryContext, settled: readonly Settled[]): Promise<void> {
	const due = settled.filter((one) => one.dueAt !== null);
	if (due.length === 0) return;
	await persist(() => wakeFlows(db.pool, due)).catch((error: unknown) => {
		log.warn({ err: error, records: due.length }, 'publishers were not told of retries and find them by themselves');
	});
}

function report({ provider, log, metrics }: DeliveryContext, { record, message, settlement }: Ended, settled: Settled | undefined): void {
	const channel = channelLabel(provider.channel);
	const { attempt } = settlement;
	const status = settled?.status ?? 'lost';
	const ambiguous = attempt.ambiguous ? 'true' : 'false';
	metrics.attemptsTotal.inc({
		channel,
		provider: provider.name,
		outcome: OUTCOME_LABELS[settlement.to],
		category: attempt.category ?? 'none',
		ambiguous,
	});
	if (status === 'SENT')
		metrics.acceptToSentSeconds.observe({ channel, lane: record.lane }, Math.max(0, (now().getTime() - record.createdAt.getTime()) / 1000));
	const end = END_LABELS[status];
	if (end !== undefined) metrics.attemptsPerRecord.observe({ channel, outcome: end }, record.attemptNo);
	if (settled?.lettered === true) metrics.deadLettersTotal.inc({ source: LETTER_SOURCES[status] ?? 'SEND_EXHAUSTED', channel });
	const { category, stage, code, enhancedCode } = attempt;
	const answer = category === null ? {} : { category, stage, code, enhancedCode };
	log.info(
		{
			recordId: record.id,
			tenantId: record.tenantId,
			traceId: record.traceId,
			spanId: message.span.spanId,
			attemptNo: record.attemptNo,
			status,
			outcome: attempt.outcome,
			...answer,
		},
		'attempt settled',
	);
}

const END_LABELS: Readonly<Record<string, 'sent' | 'failed' | 'dead_letter' | 'expired'>> = {
	SENT: 'sent',
	FAILED: 'failed',
	DEAD_LETTER: 'dead_letter',
	EXPIRED: 'expired',
};

const LETTER_SOURCES: Readonly<Record<string, 'AMBIGUOUS' | 'EXPIRED'>> = { HELD: 'AMBIGUOUS', EXPIRED: 'EXPIRED' };

const OUTCOME_LABELS = {
	SENT: 'accepted',
	RETRY: 'retry',
	FAILED: 'failed',
	DEAD_LETTER: 'dead_letter',
	HELD: 'held',
} as const satisfies Record<Settlement['to'], string>;
