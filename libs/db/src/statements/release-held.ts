import type { Queryable } from '../client.js';

/** Lets outbox entries go that are held behind these gates for the next window. Answers the gates of which something was held; their flows are to be woken. By outbox_entry_held. */
export async function releaseHeld(client: Queryable, gates: readonly string[]): Promise<string[]> {
	const { rows } = await client.query<{ gate: string }>({
		name: 'release-held',
		text: `
			with held as materialized (
				select e.id from flow f join outbox_entry e on e.flow_id = f.id where f.gate = any($1::uuid[]) and e.held_until is not null order by e.id for update of e
			)
			update outbox_entry set held_until = null where id = any(array(select id from held)) returning gate`,
		values: [gates],
	});
	return [...new Set(rows.map((row) => row.gate))];
}
