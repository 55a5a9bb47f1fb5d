import type { Queryable } from '../client.js';
import type { GateError } from '../gating.js';

/** Keeps the newest no of each provider config, for people. Name each config at most once. Need not be durable. */
export async function noteErrors(pool: Queryable, errors: readonly { configId: string; error: GateError }[]): Promise<void> {
	await pool.query({
		name: 'note-errors',
		text: `
			with e as materialized (select * from unnest($1::uuid[], $2::jsonb[]) as e (id, error)),
			locked as materialized (select g.id from gate g where g.id = any($1) order by g.id for no key update skip locked)
			update gate g set last_error = e.error from e where g.id = e.id and g.id = any(array(select id from locked))`,
		values: [errors.map((one) => one.configId), errors.map((one) => JSON.stringify(one.error))],
	});
}
