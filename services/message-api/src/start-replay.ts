import { type Db, findReplay, insertReplay, queryableOf, type ReplayRow, type ReplaySelection } from '@tidings/db';
import { newId } from '@tidings/model';
import { type Actor, audit } from './audit.js';
import { holdTenant } from './hold-tenant.js';

/** What is to be replayed, and how quickly. */
export type ReplayWish = {
	readonly tenantId: string;
	readonly selection: ReplaySelection;
	readonly ratePerSecond: number;
	readonly note: string | null;
};

/** Counting very many letters may take as long as any statement. */
const LONGEST_MS = 30_000;

/** Starts a replay of many letters: it is written, with its audit in one transaction, and the dead-letter service works it off. Throws a `Problem` 404 when the tenant is erased. */
export async function startReplay({ prisma }: Db, who: Actor, wish: ReplayWish): Promise<ReplayRow> {
	const { tenantId, selection, ratePerSecond, note } = wish;
	const id = newId();
	return await prisma.$transaction(
		async (tx) => {
			const client = queryableOf(tx);
			await holdTenant(tx, tenantId);
			await insertReplay(client, { id, ...wish, ...who });
			const replay = await findReplay(client, tenantId, id);
			if (replay === null) throw new Error(`the replay ${id} is not there`);
			await audit(tx, who, {
				tenantId,
				action: 'dead-letter-replay.start',
				subjectType: 'dead-letter-replay',
				subjectId: id,
				detail: { by: selection.kind, matched: String(replay.matched), ratePerSecond: String(ratePerSecond), note },
			});
			return replay;
		},
		{ timeout: LONGEST_MS },
	);
}
