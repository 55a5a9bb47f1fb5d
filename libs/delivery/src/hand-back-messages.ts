import { handBack, wakeFlows } from '@tidings/db';
import type { DeliveryContext } from './context.js';
import { giveUp } from './give-up.js';
import type { HeldMessage } from './message.js';

/** Hands messages back that may not be sent now: one statement for all, then they are acknowledged. Their records wait in the tables, behind their gate. */
export async function handBackMessages(context: DeliveryContext, messages: readonly HeldMessage[]): Promise<void> {
	if (messages.length === 0) return;
	const { db, persist } = context;
	try {
		const back = await persist(() => handBack(db.pool, messages));
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
