import { type Db, type EntryRow, findEntry, queryableOf, requeueEntry as reopen } from '@tidings/db';
import type { OutboxStatus } from '@tidings/model';
import { audit } from './audit.js';
import { wakeNow } from './wake-now.js';

/** How a requeue ended. `conflict`: the entry is not DEAD. */
export type RequeueResult =
	| { readonly kind: 'done'; readonly entry: EntryRow }
	| { readonly kind: 'not-found' }
	| { readonly kind: 'conflict'; readonly status: OutboxStatus };

/** Opens a dead outbox entry again: NEW, due now, refused never; with its audit in one transaction, and the publishers are woken after the commit. */
export async function requeueEntry(
	context: { readonly db: Db; readonly actor: string; readonly traceId: string },
	tenantId: string,
	id: string,
	options: { note?: string } = {},
): Promise<RequeueResult> {
	const { db } = context;
	let wake: string | null = null;
	const result = await db.prisma.$transaction(async (tx): Promise<RequeueResult> => {
		const client = queryableOf(tx);
		const before = await findEntry(client, tenantId, id);
		if (before === null) return { kind: 'not-found' };
		const flowId = await reopen(client, tenantId, id);
		const entry = await findEntry(client, tenantId, id);
		if (entry === null) return { kind: 'not-found' };
		if (flowId === null) return { kind: 'conflict', status: entry.status };
		await audit(tx, context, {
			tenantId,
			action: 'outbox-entry.requeue',
			subjectType: 'outbox-entry',
			subjectId: id,
			detail: { from: 'DEAD', to: entry.status, refusals: String(before.refusals), note: options.note ?? null },
		});
		wake = flowId;
		return { kind: 'done', entry };
	});
	if (wake !== null) await wakeNow(db, [wake]);
	return result;
}
