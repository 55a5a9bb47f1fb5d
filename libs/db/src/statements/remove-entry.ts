import type { Queryable } from '../client.js';

/** Removes the outbox entry of a record that is not open any more, in the caller's transaction. */
export async function removeEntry(client: Queryable, tenantId: string, recordId: string): Promise<void> {
	await client.query({
		name: 'remove-entry',
		text: 'delete from outbox_entry where id = $1 and tenant_id = $2',
		values: [recordId, tenantId],
	});
}
