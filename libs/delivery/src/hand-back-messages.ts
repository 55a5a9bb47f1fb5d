import { type HandBackKey, handBack, wakeFlows } from '@tidings/db';
import { monotonic } from '@tidings/model';
import type { DeliveryContext } from './context.js';
import { giveUp } from './give-up.js';
import type { HeldMessage } from './message.js';

/** A message that may not be sent now, and how long its record is left alone when no gate keeps it. */
export type ToHandBack = { readonly message: HeldMessage; readonly pause: HandBackKey['pause'] };

/** Hands messages back that may not be sent now: one statement for all, then they are acknowledged. Their records wait in the tables, behind their gate or for their pause. */
export async function handBackMessages(context: DeliveryContext, items: readonly ToHandBack[]): Promise<void> {
	if (items.length === 0) return;
	const { db, persist } = context;
	const messages = items.map((one) => one.message);
	const began = monotonic();
	const keys = (): HandBackKey[] =>
		items.map(({ message: { recordId, tenantId }, pause }) => ({
			recordId,
			tenantId,
			pause: pause === null ? null : { ...pause, seconds: secondsLeft(pause.seconds, began) },
		}));
	try {
		const back = await persist(() => handBack(db.pool, keys()));
		await wakeAll(
			context,
			back.map((one) => one.flowId),
		);
	} catch (error) {
		await giveUp(context, messages, error);
		return;
	}
	for (const message of messages) dismiss(context, message);
}

/** What is left of so many seconds that began then, of the monotonic clock: the database may have been away meanwhile. */
export function secondsLeft(seconds: number, began: number): number {
	return Math.max(0, seconds - (monotonic() - began) / 1_000);
}

/** Tells the publishers of what waits again. They find it by themselves when that fails. */
export async function wakeAll({ db, persist, log }: DeliveryContext, flowIds: readonly string[]): Promise<void> {
	const flows = [...new Set(flowIds)].map((flowId) => ({ flowId, dueAt: null }));
	if (flows.length === 0) return;
	await persist(() => wakeFlows(db.pool, flows)).catch((error: unknown) => {
		log.warn({ err: error, flows: flows.length }, 'publishers were not told of what was handed back and find it by themselves');
	});
}

/** Acknowledges a message for which there was nothing to do here. */
export function dismiss({ metrics, route }: DeliveryContext, message: HeldMessage): void {
	metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'stale' });
	message.ack();
}
