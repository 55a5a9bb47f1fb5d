import type { Queryable } from '../client.js';

/** Whether a tenant has any record. By send_record_list. */
export async function hasRecords(client: Queryable, tenantId: string): Promise<boolean> {
	const { rows } = await client.query<{ any: boolean }>({
		name: 'has-records',
		text: 'select exists (select from send_record where tenant_id = $1) as any',
		values: [tenantId],
	});
	return rows[0]?.any === true;
}
