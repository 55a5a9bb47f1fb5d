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

/** What a person decides about a held message: send it again, or it was delivered, or it was not and shall not be. */
export type Resolution = 'resend' | 'delivered' | 'failed';

/** Decides about a HELD message: `resend` → RETRY, due now · `delivered` → SENT · `failed` → FAILED. Its letter is resolved in the same transaction. Every other state is a conflict. */
export async function releaseMessage(
	context: ActContext,
	tenantId: string,
	id: string,
	options: { resolution: Resolution; note?: string },
): Promise<ActResult> {
	return await actOnMessage(context, 'release', { tenantId, id }, (record) => plan(context, record, options));
}

function plan(
	context: ActContext,
	record: ActedRecord,
	{ resolution, note = null }: { resolution: Resolution; note?: string | null },
): ActPlan {
	if (record.status !== 'HELD') return { refuse: { kind: 'conflict', status: record.status } };
	const late = resolution === 'resend' ? tooLate(record) : null;
	if (late !== null) return late;
	const { id, tenantId } = record;
	const close = { resolution: resolution === 'resend' ? 'resent' : resolution, actor: context.actor, note };
	return {
		to: resolution === 'resend' ? 'RETRY' : resolution === 'delivered' ? 'SENT' : 'FAILED',
		change:
			resolution === 'resend'
				? { budgetMax: Math.max(record.budgetMax, record.budgetUsed + 1), notAfter: renewedDeadline(record) }
				: {
						reason: `released as ${resolution}`,
						partial: resolution === 'delivered' ? record.refused > 0 : record.accepted > 0,
					},
		detail: { resolution, note },
		also: async (tx) => {
			const client = queryableOf(tx);
			await resolveLetter(client, tenantId, id, close);
			if (resolution === 'delivered')
				await tx.sendRecipient.updateMany({ where: { id, tenantId, outcome: 'OPEN' }, data: { outcome: 'ACCEPTED' } });
			return resolution === 'resend' ? { wake: await appendEntry(client, tenantId, id) } : {};
		},
	};
}
