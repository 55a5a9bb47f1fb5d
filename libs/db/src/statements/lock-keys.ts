import type { Queryable } from '../client.js';

/**
 * Tries to take every key for the rest of the transaction, in sorted order, so that two transactions never wait for each other.
 * Returns the keys that are held elsewhere. Whoever reads by these keys must do so in a later statement: this one's snapshot may be older than the lock.
 */
export async function lockKeys(client: Queryable, keys: readonly string[]): Promise<Set<string>> {
	const { rows } = await client.query<{ key: string }>({
		name: 'lock-keys',
		text: `
			select key
			from (
				select key, pg_try_advisory_xact_lock(hash) as taken
				from (select key, hashtextextended(key, 7) as hash from unnest($1::text[]) as key order by 2) as sorted
			) as tried
			where not taken`,
		values: [keys],
	});
	return new Set(rows.map((row) => row.key));
}
