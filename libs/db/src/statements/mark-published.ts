import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

const MOVE = moveEntries('mark', { row: 'e', to: 'PUBLISHED', lease: 'now() + make_interval(secs => $3 * power(2, least(e.heals, 10)))' });

/** Names of entries under one lease. */
export type Leased = { readonly ids: readonly string[]; readonly lease: string };

/**
 * Notes that the broker confirmed these entries. From now on each heals when it stays unclaimed for `healSeconds`, doubled with every healing.
 * An entry that a sender is just removing needs no mark, hence `skip locked`; one whose lease went to another publisher is left to that one. Crosses tenants by nature.
 */
export async function markPublished(pool: Queryable, entries: Leased, healSeconds: number): Promise<void> {
	await pool.query({
		name: 'mark-published',
		text: `
			update outbox_entry e set ${MOVE.set}
			where e.id = any(array(
				select id from outbox_entry where id = any($1) and status = 'PUBLISHING' and lease_until = $2::timestamptz order by id for update skip locked
			)) and ${MOVE.guard}`,
		values: [entries.ids, entries.lease, healSeconds],
	});
}
