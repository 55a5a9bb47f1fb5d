import type { Queryable } from '../client.js';

/**
 * Tries to take every key for the rest of the transaction, in sorted order, so that two transactions never wait for each other.
 * Returns the keys that are held elsewhere, and the time of the transaction. Whoever reads by these keys must do so in a later statement: this one's snapshot may be older than the lock.
 */
export async function lockKeys(client: Queryable, keys: readonly string[]): Promise<{ held: ReadonlySet<string>; at: Date }> {
	const { rows } = await client.query<{ key: string | null; at: Date }>({
		name: 'lock-keys',
		text: `
			select key, at
			from (select now() as at) as t left join (
				select key, pg_try_advisory_xact_lock(hash) as taken
				from (select key, hashtextextended(key, 7) as hash from unnest($1::text[]) as key order by 2) as sorted
			) as tried on not taken`,
		values: [keys],
	});
	const [first] = rows;
	if (first === undefined) throw new Error('lock-keys answered no row');
	return { held: new Set(rows.flatMap((row) => (row.key === null ? [] : [row.key]))), at: first.at };
}
