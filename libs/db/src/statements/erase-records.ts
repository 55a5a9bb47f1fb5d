import { OPEN_STATUSES } from '@tidings/model';
import type { Queryable } from '../client.js';

/** The tables of records and their companions, by the id of the record. */
export const RECORD_TABLES = [
	'send_record',
	'send_state',
	'send_payload',
	'send_recipient',
	'attachment',
	'delivery_attempt',
	'outbox_entry',
] as const;

const OPEN = [...OPEN_STATUSES, 'SENDING'].map((status) => `'${status}'`).join(', ');

/**
 * Erases records of a tenant with all their companions, of the newest `limit`, in the caller's transaction. What waits or is being sent (a person had it sent again) stays until it has ended. Returns how many.
 * By send_record_list and the primary keys; the states are locked first, so that no record is sent again while it goes, and one that is locked is left for the next time.
 */
export async function eraseRecords(client: Queryable, tenantId: string, limit: number): Promise<number> {
	const { rowCount } = await client.query({
		name: 'erase-records',
		text: `
			with page as materialized (select id from send_record where tenant_id = $1 order by id desc limit $2),
			gone as materialized (
				select s.id from send_state s where s.id = any(array(select id from page)) and s.tenant_id = $1 and s.status || '' not in (${OPEN})
				order by s.id for update skip locked
			),
			${RECORD_TABLES.map((table, n) => `erased${n} as (delete from ${table} where id = any(array(select id from gone)) and tenant_id = $1)`).join(', ')}
			select id from gone`,
		values: [tenantId, limit],
	});
	return rowCount ?? 0;
}
