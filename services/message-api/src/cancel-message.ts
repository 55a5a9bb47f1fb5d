import { queryableOf, removeEntry } from '@tidings/db';
import { type ActContext, type ActResult, actOnMessage } from './act-on-message.js';

/**
 * Cancels a message that waits: PENDING|RETRY → CANCELLED, and its outbox entry goes. "Cancelled" is answered only when the compare-and-swap won;
 * `mayHaveBeenSent` warns that an earlier attempt was ambiguous. Every other state is a conflict.
 */
export async function cancelMessage(
	context: ActContext,
	tenantId: string,
	id: string,
	options: { note?: string } = {},
): Promise<ActResult> {
	let ambiguous = false;
	const result = await actOnMessage(context, 'cancel', { tenantId, id }, (record) => {
		if (record.status !== 'PENDING' && record.status !== 'RETRY') return { refuse: { kind: 'conflict', status: record.status } };
		ambiguous = record.ambiguous;
		return {
			to: 'CANCELLED',
			change: { reason: 'cancelled' },
			detail: { note: options.note ?? null },
			also: async (tx) => {
				await removeEntry(queryableOf(tx), tenantId, id);
				return {};
			},
		};
	});
	return result.kind === 'done' ? { ...result, mayHaveBeenSent: ambiguous } : result;
}
