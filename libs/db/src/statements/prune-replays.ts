import { idAt } from '@tidings/model';
import type { Queryable } from '../client.js';

/** A replay's id is made before its row, by another clock than the database's: they differ by less. */
const SLACK_MS = 3_600_000;

/**
 * Deletes replays of all tenants that ended before a time, at most `limit`; returns how many. One that is RUNNING stays, however old. Crosses tenants: all are kept equally long.
 * By the primary key, whose ids tell when they were made; rows that somebody has locked are left for the next time.
 */
export async function pruneReplays(pool: Queryable, { endedBefore, limit }: { endedBefore: Date; limit: number }): Promise<number> {
	const { rowCount } = await pool.query({
		name: 'prune-replays',
		text: `
			delete from dead_letter_replay where id = any(array(
				select id from dead_letter_replay where id < $1::uuid and status <> 'RUNNING' and finished_at < $2::timestamptz order by id limit $3
				for update skip locked
			))`,
		values: [idAt(new Date(endedBefore.getTime() + SLACK_MS)), endedBefore, limit],
	});
	return rowCount ?? 0;
}
