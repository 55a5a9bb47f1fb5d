import { detailOf, endTrials, type GateClosing, noteErrors, openGates, type Settlement, wakeGates } from '@tidings/db';
import { monotonic } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import { closeAll, gateError } from './close-gate.js';
import type { DeliveryContext } from './context.js';
import type { Ended } from './ended.js';
import type { GateVerdict } from './gate-verdict.js';

/** So many failures to reach a provider, one after the other, close its gate. */
const STRIKES = 3;
/** A config's newest error is written down at most so often. */
const NOTE_MS = 5_000;

/**
 * Closes the gates that these attempts speak against, before they are settled. The one that closes a gate pays: a dead letter, a burnt attempt. Every other that met the same closed door, here or
 * in another process, waits behind it and burns nothing; so a wrong password makes one dead letter, however many records wait.
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
		// The first of a config in this batch is the one by whose evidence it was closed.
		return closing === undefined || closed.delete(closing.configId) ? item : { ...item, settlement: behindGate(item.settlement) };
	});
}

function closingOf({ gates }: DeliveryContext, { record, verdict }: Ended): GateClosing | null {
	const about = { configId: record.configId, version: record.configVersion };
	switch (verdict.kind) {
		case 'close': {
			const error = gateError(verdict.refusal, record.id);
			return { ...about, reason: verdict.reason, detail: detailOf(error), seconds: verdict.seconds, error };
		}
		case 'strike': {
			const strikes = (gates.strikes.get(record.configId) ?? 0) + 1;
			gates.strikes.set(record.configId, strikes);
			if (strikes < STRIKES && !record.halfOpen) return null;
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
function behindGate(settlement: Settlement): Settlement {
	const recipients = settlement.recipients.map((one) => ({ ...one, outcome: 'OPEN' as const }));
	return { ...settlement, recipients, to: 'RETRY', delaySeconds: 0, burns: false, waits: true };
}

/** After the settlement: opens what was shown to work, lets the next one try where nothing was shown, and keeps the newest errors for people. What fails here heals by itself. */
export async function reportToGates(context: DeliveryContext, items: readonly Ended[]): Promise<void> {
	const { db, log, gates } = context;
	const of = (kind: GateVerdict['kind'], fits: (item: Ended) => boolean): string[] => [
		...new Set(items.filter((item) => item.verdict.kind === kind && fits(item)).map((item) => item.record.configId)),
	];
	const ids = of('alive', ({ record }) => record.halfOpen);
	const hung = of('alive', ({ record }) => gates.hung.has(record.configId));
	const idle = of('nothing', ({ record }) => record.halfOpen);
	try {
		if (ids.length > 0 || hung.length > 0) await open(context, { ids, hung });
		if (idle.length > 0) {
			await endTrials(db.pool, idle);
			await wakeGates(db.pool, idle);
		}
		const errors = newErrors(context, items);
		if (errors.length > 0) await noteErrors(db.pool, errors);
	} catch (error) {
		log.warn({ err: error }, 'what attempts showed about their gates could not be written down; it is found out again');
	}
}

async function open({ db, log, gates, metrics, provider }: DeliveryContext, which: { ids: string[]; hung: string[] }): Promise<void> {
	const opened = await openGates(db.pool, which);
	for (const configId of which.hung) gates.hung.delete(configId);
	for (const { configId, reason } of opened) {
		metrics.gateChangesTotal.inc({
			channel: channelLabel(provider.channel),
			provider: provider.name,
			state: 'open',
			reason: reason ?? 'none',
		});
		log.info({ configId }, 'the gate of a provider config is open again');
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
