import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';
import type { Leased } from './mark-published.js';

const BACK = moveEntries('give-back', { row: 'e', to: 'NEW' });
const BURY = moveEntries('bury', { row: 'e', to: 'DEAD' });

/** A publish that the broker refuses this often, while it confirms others, ends as DEAD. */
export const REFUSALS_BEFORE_DEAD = 10;

/** Gives entries back that could not be published through no fault of their own (outage, missing topic): NEW, due as before, nothing counted. Crosses tenants by nature. */
export async function giveBackEntries(pool: Queryable, entries: Leased): Promise<void> {
	await pool.query({
		name: 'give-back-entries',
		text: `update outbox_entry e set ${BACK.set} where e.id = any($1) and e.lease_until = $2::timestamptz and ${BACK.guard}`,
		values: [entries.ids, entries.lease],
	});
}

/**
 * Counts a refusal against entries that the broker refused while it confirmed others on their topic: NEW again after 2ⁿ seconds, or DEAD with the tenth.
 * Returns the ids that are DEAD now. Crosses tenants by nature.
 */
export async function refuseEntries(pool: Queryable, entries: Leased): Promise<string[]> {
	const { rows } = await pool.query<{ id: string }>({
		name: 'refuse-entries',
		text: `
			with dead as (
				update outbox_entry e set ${BURY.set}, refusals = e.refusals + 1
				where e.id = any($1) and e.lease_until = $2::timestamptz and e.refusals + 1 >= ${REFUSALS_BEFORE_DEAD} and ${BURY.guard}
				returning e.id
			),
			back as (
				update outbox_entry e set ${BACK.set}, refusals = e.refusals + 1, due_at = now() + make_interval(secs => power(2, e.refusals + 1))
				where e.id = any($1) and e.lease_until = $2::timestamptz and e.refusals + 1 < ${REFUSALS_BEFORE_DEAD} and ${BACK.guard}
			)
			select id from dead`,
		values: [entries.ids, entries.lease],
	});
	return rows.map((row) => row.id);
}
