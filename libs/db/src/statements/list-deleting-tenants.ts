import type { Queryable } from '../client.js';

/** A tenant that is being deleted, and what becomes of what waits. */
export type DeletingTenant = { readonly id: string; readonly queued: 'deliver' | 'cancel' };

/** The tenants that are being deleted, the oldest first. Crosses tenants by nature. By tenant_deleting, which is mostly empty. */
export async function listDeletingTenants(pool: Queryable): Promise<DeletingTenant[]> {
	const { rows } = await pool.query<DeletingTenant>({
		name: 'list-deleting-tenants',
		text: `select id, queued from tenant where status = 'DELETING' order by id`,
	});
	return rows;
}
