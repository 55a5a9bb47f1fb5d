import { type Db, findReplay, queryableOf, type ReplayRow, stopReplay as stop } from '@tidings/db';
import { type Actor, audit } from './audit.js';

/** How stopping ended. `conflict`: the replay is not RUNNING. */
export type StopResult =
	| { readonly kind: 'done'; readonly replay: ReplayRow }
	| { readonly kind: 'not-found' }
	| { readonly kind: 'conflict'; readonly replay: ReplayRow };

/** Stops a replay that is RUNNING, with its audit in one transaction: no letter is replayed after it. What was replayed stays so. */
export async function stopReplay(
	{ prisma }: Db,
	who: Actor,
	{ tenantId, id, note }: { readonly tenantId: string; readonly id: string; readonly note: string | null },
): Promise<StopResult> {
	return await prisma.$transaction(async (tx): Promise<StopResult> => {
		const client = queryableOf(tx);
		const isStopped = await stop(client, tenantId, id);
		const replay = await findReplay(client, tenantId, id);
		if (replay === null) return { kind: 'not-found' };
		if (!isStopped) return { kind: 'conflict', replay };
		await audit(tx, who, {
			tenantId,
			action: 'dead-letter-replay.stop',
			subjectType: 'dead-letter-replay',
			subjectId: id,
			detail: { from: 'RUNNING', to: replay.status, replayed: String(replay.replayed), matched: String(replay.matched), note },
		});
		return { kind: 'done', replay };
	});
}
