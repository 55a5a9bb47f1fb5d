import type { Queryable } from '../client.js';

/** In how many milliseconds the next replay of any tenant has its turn, by the database's clock; 0: now. Null: none is RUNNING. By dead_letter_replay_running. */
export async function nextReplay(pool: Queryable): Promise<number | null> {
	const { rows } = await pool.query<{ ms: number | null }>({
		name: 'next-replay',
		text: `select (extract(epoch from min(next_at) - now()) * 1000)::float8 as ms from dead_letter_replay where status = 'RUNNING'`,
	});
	const ms = rows[0]?.ms ?? null;
	return ms === null ? null : Math.max(0, ms);
}
