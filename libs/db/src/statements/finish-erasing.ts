import type { Queryable } from '../client.js';
import { moveTenants } from '../transition.js';

const MOVE = moveTenants('erase', { row: 't', to: 'DELETED' });

/** Ends the deletion of a tenant of which nothing is left, in the caller's transaction: DELETED, without settings, with an audit event. False when it is not being deleted any more. By the primary key. */
export async function finishErasing(client: Queryable, tenantId: string): Promise<boolean> {
	const { rowCount } = await client.query({
		name: 'finish-erasing',
		text: `
			with erased as (update tenant t set ${MOVE.set}, settings = '{}' where t.id = $1 and ${MOVE.guard} returning t.id)
			insert into audit_event (id, tenant_id, actor, action, subject_type, subject_id) select uuid_v7(), id, 'mesh', 'tenant.erase', 'tenant', id from erased`,
		values: [tenantId],
	});
	return rowCount === 1;
}
