import { appendEntry, queryableOf, resolveLetter } from '@tidings/db';
import {
	type ActContext,
	type ActedRecord,
	type ActPlan,
	type ActResult,
	actOnMessage,
	renewedDeadline,
	tooLate,
} from './act-on-message.js';

/**
 * Sends a message once more. PENDING|RETRY: due now, state and budget as they are. FAILED, DEAD_LETTER, EXPIRED, and CANCELLED before any attempt: one new try,
 * after which the usual rules hold. Its outbox entry is replaced by a fresh one in the same transaction. SENT, SENDING and HELD are a conflict. Safe to repeat.
 */
export async function retryMessage(context: ActContext, tenantId: string, id: string, options: { note?: string } = {}): Promise<ActResult> {
	return await actOnMessage(context, 'retry', { tenantId, id }, (record) => plan(context, record, options.note ?? null));
}

function plan(context: ActContext, record: ActedRecord, note: string | null): ActPlan {
	const { status } = record;
	const open = status === 'PENDING' || status === 'RETRY';
	const again =
		status === 'FAILED' || status === 'DEAD_LETTER' || status === 'EXPIRED' || (status === 'CANCELLED' && record.attemptNo === 0);
	if (!open && !again) return { refuse: { kind: 'conflict', status } };
	const late = tooLate(record);
	if (late !== null) return late;
	return {
		to: open ? status : 'RETRY',
		change: { notAfter: renewedDeadline(record), reason: null, ...(again ? { budgetMax: record.budgetUsed + 1 } : {}) },
		detail: { note },
		also: async (tx) => {
			const client = queryableOf(tx);
			const { id, tenantId } = record;
			if (again) {
				// A replay addresses only what is open. Where nothing is (all were refused for good), the person wants them asked again.
				const openOnes = await tx.sendRecipient.count({ where: { id, tenantId, outcome: 'OPEN' } });
				if (openOnes === 0) await tx.sendRecipient.updateMany({ where: { id, tenantId, outcome: 'REFUSED' }, data: { outcome: 'OPEN' } });
				await resolveLetter(client, tenantId, id, { resolution: 'retried', actor: context.actor, note });
			}
			return { wake: await appendEntry(client, tenantId, id) };
		},
	};
}
