import {
	callReplayers,
	countRunningOf,
	type Db,
	findReplay,
	insertReplay,
	lockReplays,
	queryableOf,
	type ReplayRow,
	type ReplaySelection,
} from '@tidings/db';
import { newId, Problem } from '@tidings/model';
import { type Actor, audit } from './audit.js';
import { holdSendingTenant } from './hold-sending-tenant.js';

/** What is to be replayed, and how quickly. */
export type ReplayWish = {
	readonly tenantId: string;
	readonly selection: ReplaySelection;
	readonly ratePerSecond: number;
	readonly note: string | null;
};

/** Counting very many letters may take as long as any statement. */
const LONGEST_MS = 30_000;

/** Replays of a tenant that are RUNNING at most: whoever asks in a loop gets no more done by it, and takes no turns from other tenants. */
export const MOST_RUNNING = 5;

/**
 * Starts a replay of many letters: it is written, with its audit in one transaction, and the dead-letter service, which is told, works it off. Throws a `Problem`: 409 when `MOST_RUNNING` are
 * RUNNING already, 403 when the tenant is being deleted, 404 when it is erased.
 */
export async function startReplay({ prisma }: Db, who: Actor, wish: ReplayWish): Promise<ReplayRow> {
	const { tenantId, selection, ratePerSecond, note } = wish;
	const id = newId();
	return await prisma.$transaction(
		async (tx) => {
			const client = queryableOf(tx);
			await holdSendingTenant(client, tenantId);
			await insertReplay(client, { id, ...wish, ...who });
			// Only now, when the letters are counted: what is started at the same time waits here, and sees this one then.
			await lockReplays(client, tenantId);
			if ((await countRunningOf(client, tenantId)) > MOST_RUNNING) throw tooMany();
			const replay = await findReplay(client, tenantId, id);
			if (replay === null) throw new Error(`the replay ${id} is not there`);
			await audit(tx, who, {
				tenantId,
				action: 'dead-letter-replay.start',
				subjectType: 'dead-letter-replay',
				subjectId: id,
				detail: { by: selection.kind, matched: String(replay.matched), ratePerSecond: String(ratePerSecond), note },
			});
			await callReplayers(client);
			return replay;
		},
		{ timeout: LONGEST_MS },
	);
}

function tooMany(): Problem {
	return new Problem(
		'state-conflict',
		`${MOST_RUNNING} replays of this tenant are RUNNING, which is the most at once. Wait until one has ended, or stop one (\`POST /v1/dead-letter-replays/{id}:stop\`), and repeat the request. Nothing was written.`,
	);
}
