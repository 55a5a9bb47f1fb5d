import type { Queryable } from '../client.js';

/** Lets these flows rest: nothing of theirs is taken before `seconds` have passed, unless something new wakes them. Crosses tenants by nature. */
export async function putOffFlows(pool: Queryable, flowIds: readonly string[], seconds: number): Promise<void> {
	await pool.query({
		name: 'put-off-flows',
		text: `
			with locked as materialized (select id from flow where id = any($1) order by id for no key update)
			update flow set next_at = now() + make_interval(secs => $2) where id = any(array(select id from locked))`,
		values: [flowIds, seconds],
	});
}
