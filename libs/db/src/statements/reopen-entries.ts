import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

const REOPEN = moveEntries('reopen', { row: 'e', to: 'NEW' });

/**
 * Reopens what of a tenant is in the hands of a publisher or the broker, in the transaction that lets the tenant go on: messages that came while it was halted claimed nothing and were
 * acknowledged, so nobody would come back for these entries before they heal. Returns all flows of the tenant, to be woken after the commit.
 * Waits for entries that are just being marked: a mark that came second would hide them again. At most a window for each flow, by flow_of and outbox_entry_out.
 */
export async function reopenEntries(client: Queryable, tenantId: string): Promise<string[]> {
	const { rows } = await client.query<{ id: string | bigint }>({
		name: 'reopen-entries',
		text: `
			with out as materialized (
				select e.id from flow f join outbox_entry e on e.flow_id = f.id and e.taken where f.tenant_id = $1::uuid and e.tenant_id = $1::uuid
				order by e.id for update of e
			),
			reopened as (
				update outbox_entry e set ${REOPEN.set} where e.id = any(array(select id from out)) and ${REOPEN.guard}
			)
			select id from flow where tenant_id = $1::uuid`,
		values: [tenantId],
	});
	return rows.map((row) => String(row.id));
}
