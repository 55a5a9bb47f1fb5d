import type { Queryable } from '../client.js';

/** Those of these tenants that are erased, or are being erased: a message about a record of theirs came too late, and is no puzzle. By the primary key. */
export async function findErasedTenants(pool: Queryable, tenantIds: readonly string[]): Promise<Set<string>> {
	const { rows } = await pool.query<{ id: string }>({
		name: 'find-erased-tenants',
		text: `select id from tenant where id = any($1::uuid[]) and (status = 'DELETED' or erasing_at is not null)`,
		values: [[...new Set(tenantIds)]],
	});
	return new Set(rows.map((row) => row.id));
}
