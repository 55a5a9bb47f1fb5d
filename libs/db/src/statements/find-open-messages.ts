import type { Queryable } from '../client.js';

/** Where an open message stands: waiting in the outbox (PENDING or RETRY), in the hands of a sender, or with a person. */
export type OpenMessages = { readonly waiting: boolean; readonly sending: boolean; readonly held: boolean };

/**
 * Whether messages are open that go through a provider config. Several tenants' may, when it is the platform's, so only the config is named: its owner was checked before.
 * One statement, so that no message slips from one state to another in between. Relies on flow_gate and, for each of its flows, on outbox_entry_waiting, _out and _dead; on
 * send_state_lease (as many as are being sent) and send_state_held.
 */
export async function findOpenMessages(client: Queryable, configId: string): Promise<OpenMessages> {
	const { rows } = await client.query<OpenMessages>({
		text: `
			select
				exists(
					-- Limits of their own keep the planner from reading the whole outbox where many flows have this gate.
					select from flow f cross join lateral (
						(select from outbox_entry e where e.flow_id = f.id and not e.taken limit 1)
						union all (select from outbox_entry e where e.flow_id = f.id and e.taken limit 1)
						union all (select from outbox_entry e where e.tenant_id = f.tenant_id and e.taken is null and e.flow_id = f.id limit 1)
					) as w where f.gate = $1::uuid
				) as waiting,
				exists(select from send_state s join send_record r using (id) where s.status = 'SENDING' and r.config_id = $1::uuid) as sending,
				exists(select from send_state s join send_record r using (id) where s.status = 'HELD' and r.config_id = $1::uuid) as held`,
		values: [configId],
	});
	const [row] = rows;
	if (row === undefined) throw new Error('find-open-messages answered no row');
	return row;
}
