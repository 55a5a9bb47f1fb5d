import type { Queryable } from '../client.js';

/** The flows of a gate in which something waits, of every tenant that goes through it: to be woken when the gate opens. Relies on flow_gate and outbox_entry_waiting. */
export async function findWaitingFlows(client: Queryable, gate: string): Promise<string[]> {
	const { rows } = await client.query<{ id: string }>({
		// A limit of its own keeps the planner from reading the whole outbox where many flows have this gate.
		text: `select f.id::text as id from flow f cross join lateral (select from outbox_entry e where e.flow_id = f.id and not e.taken limit 1) as w where f.gate = $1::uuid`,
		values: [gate],
	});
	return rows.map((row) => row.id);
}
