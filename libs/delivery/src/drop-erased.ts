import { findErasedTenants } from '@tidings/db';
import type { DeliveryContext } from './context.js';
import type { HeldMessage } from './message.js';

/**
 * Acknowledges messages whose record went with its tenant: they waited with the broker while that was erased, and a person can do nothing about them. Returns the others, which nobody can explain.
 */
export async function dropErased(context: DeliveryContext, messages: readonly HeldMessage[]): Promise<readonly HeldMessage[]> {
	if (messages.length === 0) return messages;
	const { db, metrics, route } = context;
	const erased = await context.persist(() =>
		findErasedTenants(
			db.pool,
			messages.map((one) => one.tenantId),
		),
	);
	return messages.filter((message) => {
		if (!erased.has(message.tenantId.toLowerCase())) return true;
		metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'stale' });
		message.ack();
		return false;
	});
}
