import {
	type ClaimedRecord,
	detailOf,
	endTrials,
	type GateClosing,
	noteErrors,
	openGates,
	type Settlement,
	type Trial,
	wakeGates,
} from '@tidings/db';
import { monotonic } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import { closeAll, gateError } from './close-gate.js';
import type { DeliveryContext } from './context.js';
import type { Ended } from './ended.js';
import type { GateVerdict } from './gate-verdict.js';

/** So many failures to reach a provider, one after the other and within so long, close its gate. */
const STRIKES = 3;
const STRIKES_MS = 900_000;
/** A record that goes through a half-open gate and finds the door still shut waits like the others, but so often at most: perhaps it is what the door is shut for. One that has only one attempt, such as a test, is to tell at once. */
const FREE_TRIALS = 5;
/** A config's newest error is written down at most so often. */
const NOTE_MS = 5_000;

/**
 * Closes the gates that these attempts speak against, before they are settled. The one that closes a gate pays: a dead letter, a burnt attempt. Every other that met the same closed door, here or
 * in another process, waits behind it and burns nothing; so does the one that goes first to see whether the door is open again. So a wrong password makes one dead letter, however many records wait.
 */
export async function judgeGates(context: DeliveryContext, items: readonly Ended[]): Promise<Ended[]> {
	const wanting = new Map<Ended, GateClosing>();
	for (const item of items) {
		const closing = closingOf(context, item);
		if (closing !== null) wanting.set(item, closing);
	}
	if (wanting.size === 0) return [...items];
	const closed = new Set(await closeAll(context, [...wanting.values()]));
	return items.map((item) => {
		const closing = wanting.get(item);
		if (closing === undefined) return item;
		// Its door is shut, by this process or another: what comes once it is open again is counted anew.
		context.gates.strikes.delete(closing.configId);
		// The first of a config in this batch is the one by whose evidence it was closed.
		const pays = closed.delete(closing.configId) && !isFree(item.record);
		return pays ? item : { ...item, settlement: behindGate(item.settlement) };
	});
}

function isFree({ trial, attemptNo, budgetUsed, budgetMax }: ClaimedRecord): boolean {
	return trial !== null && budgetMax > 1 && attemptNo - budgetUsed <= FREE_TRIALS;
}

function closingOf({ gates }: DeliveryContext, { record, verdict }: Ended): GateClosing | null {
	const about = { configId: record.configId, version: record.configVersion };
	switch (verdict.kind) {
		case 'close': {
			const error = gateError(verdict.refusal, record.id);
			return { ...about, reason: verdict.reason, detail: detailOf(error), seconds: verdict.seconds, error };
		}
		case 'strike': {
			const before = gates.strikes.get(record.configId);
			const count = before === undefined || monotonic() - before.at > STRIKES_MS ? 1 : before.count + 1;
			gates.strikes.set(record.configId, { count, at: monotonic() });
			if (count < STRIKES && record.trial === null) return null;
			const error = gateError(verdict.refusal, record.id);
			return { ...about, reason: 'UNREACHABLE', detail: detailOf(error), seconds: null, error };
		}
		case 'alive':
			gates.strikes.delete(record.configId);
			return null;
		case 'nothing':
			return null;
	}
}

/** Due at once, so that it goes as soon as its gate opens; nothing is burnt, and nobody is refused: a no at the door is about no recipient. */
export function behindGate(settlement: Settlement): Settlement {
	const recipients = settlement.recipients.map((one) => ({ ...one, outcome: 'OPEN' as const }));
	return { ...settlement, recipients, to: 'RETRY', delaySeconds: 0, burns: false, waits: true };
}

/** After the settlement: opens what was shown to work, lets the next one try where nothing was shown, and keeps the newest errors for people. What fails here heals by itself. */
export async function reportToGates(context: DeliveryContext, items: readonly Ended[]): Promise<void> {
	const { db, log, gates } = context;
	const of = (kind: GateVerdict['kind']): ClaimedRecord[] => items.filter((item) => item.verdict.kind === kind).map((item) => item.record);
	const alive = of('alive');
	const trials = trialsOf(alive);
	const hung = [...new Set(alive.map((record) => record.configId))].filter((configId) => gates.hung.has(configId));
	try {
		if (trials.length > 0 || hung.length > 0) await open(context, { trials, hung });
		await letNextTry(context, of('nothing'));
		const errors = newErrors(context, items);
		if (errors.length > 0) await noteErrors(db.pool, errors);
	} catch (error) {
		log.warn({ err: error }, 'what attempts showed about their gates could not be written down; it is found out again');
	}
}

/** Ends the trials of records that showed nothing, if they had one: the next may go. Where that fails their lease ends them. */
export async function letNextTry({ db, log }: DeliveryContext, records: readonly ClaimedRecord[]): Promise<void> {
	const idle = trialsOf(records);
	if (idle.length === 0) return;
	try {
		await endTrials(db.pool, idle);
		await wakeGates(
			db.pool,
			idle.map((one) => one.configId),
		);
	} catch (error) {
		log.warn({ err: error }, 'trials of half-open gates could not be ended; their lease ends them');
	}
}

function trialsOf(records: readonly ClaimedRecord[]): Trial[] {
	return records.flatMap(({ configId, trial }) => (trial === null ? [] : [{ configId, until: trial }]));
}

async function open({ db, log, gates, metrics, provider }: DeliveryContext, which: { trials: Trial[]; hung: string[] }): Promise<void> {
	const opened = await openGates(db.pool, which);
	for (const configId of which.hung) gates.hung.delete(configId);
	for (const { configId, tenantId, reason } of opened) {
		metrics.gateChangesTotal.inc({
			channel: channelLabel(provider.channel),
			provider: provider.name,
			state: 'open',
			reason: reason ?? 'none',
		});
		log.info({ configId, tenantId }, 'the gate of a provider config is open again');
	}
	await wakeGates(
		db.pool,
		opened.map((one) => one.configId),
	);
}

function newErrors({ gates }: DeliveryContext, items: readonly Ended[]) {
	const newest = new Map<string, { configId: string; error: ReturnType<typeof gateError> }>();
	for (const { record, refusal } of items) {
		if (refusal === null || monotonic() - (gates.notedAt.get(record.configId) ?? Number.NEGATIVE_INFINITY) < NOTE_MS) continue;
		newest.set(record.configId, { configId: record.configId, error: gateError(refusal, record.id) });
	}
	for (const configId of newest.keys()) gates.notedAt.set(configId, monotonic());
	return [...newest.values()];
}
