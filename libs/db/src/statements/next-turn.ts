import type { Queryable } from '../client.js';

/** Milliseconds until the next flow has its turn; 0 when one has it already, null when all sleep. Reads the first entry of flow_next for each lane. Crosses tenants by nature. */
export async function nextTurn(pool: Queryable): Promise<number | null> {
	const first = (lane: string): string =>
		`(select next_at from flow where lane = '${lane}' and next_at is not null order by next_at limit 1)`;
	const { rows } = await pool.query<{ ms: number | null }>({
		name: 'next-turn',
		text: `select (extract(epoch from least(${first('urgent')}, ${first('normal')}, ${first('bulk')}) - clock_timestamp()) * 1000)::float8 as ms`,
	});
	const ms = rows[0]?.ms ?? null;
	return ms === null ? null : Math.max(0, ms);
}
