import {
	advanceReplay,
	type Db,
	failReplay,
	finishReplay,
	holdStatus,
	inTransaction,
	nextLetters,
	type ReplayedLetter,
	type ReplayStep,
	type TakenReplay,
	takeReplay,
	type UnreplayedLetter,
} from '@tidings/db';
import { type ReplayFault, replayApart } from './replay-apart.js';
import { addToTally } from './tally.js';

/** What a turn did. */
export type ReplayTurn = {
	readonly replayed: number;
	readonly refused: number;
	readonly failed: number;
	/** The letters that failed, and how. */
	readonly faults: readonly ReplayFault[];
	/** The flows that have something new. */
	readonly flows: readonly string[];
	/** How the replay ended with it; null: it goes on. */
	readonly end: 'DONE' | 'FAILED' | null;
};

/** Letters of one transaction at most: their states are locked until it ends. */
const MOST = 200;
const NOTHING = { replayed: 0, refused: 0, failed: 0, faults: [], flows: [] };

/**
 * Replays the next letters of a replay in one transaction, which also moves on where the replay stands: so each letter has its turn once, whatever happens to the service.
 * A letter at which something goes wrong is left as it is.
 * Null: it is not due, or another service has it. Throws what the database threw; then nothing was done.
 */
export async function replayTurn(
	{ pool }: Pick<Db, 'pool'>,
	{ id, tenantId }: { readonly id: string; readonly tenantId: string },
): Promise<ReplayTurn | null> {
	return await inTransaction(pool, async (client) => {
		const status = await holdStatus(client, tenantId);
		const replay = await takeReplay(client, tenantId, id);
		if (replay === null) return null;
		if (status !== 'ACTIVE' && status !== 'SUSPENDED') {
			await failReplay(client, tenantId, id, `The tenant is ${status ?? 'gone'}: nothing of it is sent anew.`);
			return { ...NOTHING, end: 'FAILED' };
		}
		// What the rate gives for half a second.
		const limit = Math.min(MOST, Math.ceil(replay.ratePerSecond / 2));
		const letterIds = await nextLetters(client, replay, limit);
		const { letters, faults } = await replayApart(client, { ...replay, letterIds, replayId: id });
		const step = stepOf(replay, { letterIds, letters, faults });
		await advanceReplay(client, tenantId, id, step);
		const isLast = letterIds.length < limit;
		if (isLast) await finishReplay(client, tenantId, id);
		return { ...step, faults, end: isLast ? 'DONE' : null };
	});
}

type Tried = {
	readonly letterIds: readonly string[];
	readonly letters: readonly ReplayedLetter[];
	readonly faults: readonly ReplayFault[];
};

function stepOf(replay: TakenReplay, { letterIds, letters, faults }: Tried): ReplayStep & { flows: readonly string[] } {
	const known = new Map(letters.map((one) => [one.id, one]));
	const failed = new Set(faults.map(({ letterId }) => letterId));
	const left = letterIds.flatMap((letterId): UnreplayedLetter[] => {
		if (failed.has(letterId)) return [{ letterId, reason: null }];
		const one = known.get(letterId);
		const reason = one === undefined ? 'not-found' : one.refusal;
		return reason === null ? [] : [{ letterId, reason }];
	});
	return {
		lastId: letterIds.at(-1) ?? null,
		replayed: letterIds.length - left.length,
		refused: left.length - failed.size,
		failed: failed.size,
		flows: [...new Set(letters.flatMap(({ flowId }) => flowId ?? []))],
		...addToTally(replay, left),
	};
}
