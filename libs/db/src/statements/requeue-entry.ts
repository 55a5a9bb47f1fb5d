import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

const AGAIN = moveEntries('requeue', { row: 'e', to: 'NEW' });

/**
 * Opens a dead outbox entry of a tenant again, in the caller's transaction: NEW, due now, with all its refusals before it.
 * Returns the flow to wake after the commit; null when there is none that is DEAD: the row's lock decides between two that ask at once.
 */
export async function requeueEntry(client: Queryable, tenantId: string, id: string): Promise<string | null> {
	const { rows } = await client.query<{ flow_id: string | bigint }>({
		name: 'requeue-entry',
		text: `
			update outbox_entry e set ${AGAIN.set}, due_at = now(), refusals = 0
			where e.id = $1::uuid and e.tenant_id = $2::uuid and e.taken is null and ${AGAIN.guard}
			returning flow_id`,
		values: [id, tenantId],
	});
	return rows[0] === undefined ? null : String(rows[0].flow_id);
}
