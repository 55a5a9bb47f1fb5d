import type { Queryable } from './client.js';
import { lockReplayed } from './statements/lock-replayed.js';
import { type ReplayDeed, type ReplayedLetter, replayLocked } from './statements/replay-locked.js';

/** Letters of one tenant to be replayed. */
export type ReplayOrder = ReplayDeed & { readonly tenantId: string; readonly letterIds: readonly string[] };

/**
 * Replays dead letters in the caller's transaction: DEAD_LETTER and EXPIRED are retried, HELD is sent again, and of what the broker gave up on the message is published again while it waits.
 * Says of each letter that is there what became of it; the others are left out. The flows are to be woken after the commit. A letter that is closed already is refused, so that repeating acts once.
 */
export async function replayLetters(client: Queryable, { tenantId, letterIds, ...deed }: ReplayOrder): Promise<ReplayedLetter[]> {
	await lockReplayed(client, tenantId, letterIds);
	return await replayLocked(client, tenantId, letterIds, deed);
}
