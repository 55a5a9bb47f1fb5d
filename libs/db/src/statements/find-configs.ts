import type { Queryable } from '../client.js';

/** The provider config of each record; records that are unknown, or another tenant's, are left out. Read by the primary key. */
export async function findConfigs(pool: Queryable, keys: readonly { recordId: string; tenantId: string }[]): Promise<Map<string, string>> {
	const { rows } = await pool.query<{ id: string; config_id: string }>({
		name: 'find-configs',
		text: `
			select r.id, r.config_id from unnest($1::uuid[], $2::uuid[]) as k (id, tenant_id)
			join send_record r using (id, tenant_id) where r.config_id is not null`,
		values: [keys.map((key) => key.recordId), keys.map((key) => key.tenantId)],
	});
	return new Map(rows.map((row) => [row.id, row.config_id]));
}
