import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

const FRESH = moveEntries('requeue', { row: 'e', to: 'NEW' });

/**
 * Gives a record a fresh outbox entry that is due now, in the caller's transaction; whatever entry it had, also a DEAD or PUBLISHED one, is replaced.
 * Returns the flow to wake after the commit.
 */
export async function appendEntry(client: Queryable, tenantId: string, recordId: string): Promise<string> {
	const { rows } = await client.query<{ flow_id: string | bigint }>({
		name: 'append-entry',
		text: `
			insert into outbox_entry as e (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
			select r.id, r.tenant_id, r.route, r.lane, r.config_id, r.flow_id, now(), r.trace_id, r.traceparent from send_record r where r.id = $1 and r.tenant_id = $2
			on conflict (id) do update set ${FRESH.set}, due_at = now(), refusals = 0, heals = 0, nacks = 0
			returning flow_id`,
		values: [recordId, tenantId],
	});
	const [row] = rows;
	if (row === undefined) throw new Error(`record ${recordId} has no outbox entry to append`);
	return String(row.flow_id);
}
