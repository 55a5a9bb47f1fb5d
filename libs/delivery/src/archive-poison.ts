import { type ArchivedPoison, archivePoisons, type PoisonMessage, readPoison } from '@tidings/db';
import { channelLabel } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import type { DeliveryMessage } from './message.js';
import { isPassing } from './persist.js';

/** A message that no consumer can process, with what is kept of it. */
export type Poison = { readonly message: DeliveryMessage & { letGo(): void }; readonly poison: PoisonMessage };

const NACK_MS = 30_000;

/** Reads what is kept of a message: the payload itself is not held on to. */
export function poisonOf(message: Poison['message'], reason: string): Poison {
	return { message, poison: readPoison({ topic: message.topic, messageId: message.messageId, payload: message.payload, reason }) };
}

/**
 * Archives poison at first sight, unique on (topic, message id), and then acknowledges it. What cannot be archived is not acknowledged and says so in an error line:
 * it comes back and is tried again. One that is refused for itself leaves the others alone.
 */
export async function archivePoison(context: DeliveryContext, items: readonly Poison[]): Promise<void> {
	const { db, log, metrics, route, provider } = context;
	try {
		// failpoint: archiving
		const letters = await context.persist(() =>
			archivePoisons(
				db.pool,
				items.map(({ poison }) => ({ ...poison, channel: provider.channel })),
			),
		);
		report(context, letters);
	} catch (error) {
		if (isPassing(error)) {
			for (const { message } of items) message.letGo();
			return;
		}
		if (items.length > 1) {
			const half = items.length >> 1;
			await archivePoison(context, items.slice(0, half));
			await archivePoison(context, items.slice(half));
			return;
		}
		for (const { message } of items) {
			log.error({ err: error, topic: message.topic, messageId: message.messageId }, 'poison could not be archived and comes back');
			metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'nacked' });
			message.nack(context.nackMs ?? NACK_MS);
		}
		return;
	}
	for (const { message } of items) {
		metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'poison' });
		message.ack();
	}
}

function report({ log, metrics, provider }: DeliveryContext, letters: readonly ArchivedPoison[]): void {
	for (const { id, tenantId, recordId, topic, messageId } of letters) {
		metrics.deadLettersTotal.inc({ source: 'BROKER_POISON', channel: channelLabel(provider.channel) });
		log.error({ letterId: id, tenantId, recordId, topic, messageId }, 'poison was archived as a dead letter');
	}
}
