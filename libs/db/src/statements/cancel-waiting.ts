import type { Queryable } from '../client.js';
import { moveRecords, recordsAt } from '../transition.js';

const MOVE = moveRecords('cancel', { row: 's', to: 'CANCELLED' });

/**
 * Cancels what of a tenant waits, at most about `limit` at a time, and removes its outbox entries: the tenant is being deleted. What a sender has just in its hands is skipped; it is found again when it
 * comes back. Found by the entries, through flow_of and the partial indexes on what waits, what is out and what is dead; each state is locked before its entry, as a claim does. Returns how many.
 */
export async function cancelWaiting(pool: Queryable, tenantId: string, limit: number): Promise<number> {
	const entries = (which: string): string =>
		`(select e.id from flow f join outbox_entry e on e.flow_id = f.id and ${which} where f.tenant_id = $1 and e.tenant_id = $1 limit $2)`;
	const { rowCount } = await pool.query({
		name: 'cancel-waiting',
		text: `
			with entry as materialized (
				${entries('not e.taken')} union all ${entries('e.taken')} union all (select id from outbox_entry where tenant_id = $1 and taken is null limit $2)
			),
			waiting as materialized (
				select s.id from send_state s where s.id = any(array(select id from entry)) and s.tenant_id = $1 and ${recordsAt('cancel', 's')}
				order by s.id for update skip locked
			),
			cancelled as (
				update send_state s set ${MOVE.set}, reason = 'tenant deleted' where s.id = any(array(select id from waiting)) and ${MOVE.guard}
				returning s.id
			),
			removed as (delete from outbox_entry where id = any(array(select id from cancelled)) and tenant_id = $1)
			select id from cancelled`,
		values: [tenantId, limit],
	});
	return rowCount ?? 0;
}
