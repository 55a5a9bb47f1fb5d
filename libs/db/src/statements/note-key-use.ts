import type { Queryable } from '../client.js';

/**
 * Writes when API keys let a request in last. It only moves forward: another process may have seen a later use. Names no tenant: the ids are those of keys that have
 * just proven themselves, of any tenant. Found by the unique index on `key_id`; locked in id order, so that two processes do not wait for each other in a circle.
 */
export async function noteKeyUse(pool: Queryable, uses: ReadonlyMap<string, Date>): Promise<void> {
	await pool.query({
		name: 'note-key-use',
		text: `
			with used as (
				select k.id, u.at from unnest($1::text[], $2::timestamptz[]) as u(key_id, at) join api_key k on k.key_id = u.key_id
				where k.last_used_at is null or k.last_used_at < u.at
				order by k.id for update of k
			)
			update api_key k set last_used_at = greatest(k.last_used_at, used.at) from used where k.id = used.id`,
		values: [[...uses.keys()], [...uses.values()]],
	});
}
