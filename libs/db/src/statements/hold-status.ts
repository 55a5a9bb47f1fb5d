import type { TenantStatus } from '@tidings/model';
import type { Queryable } from '../client.js';

/** The status of a tenant, held until the transaction ends; null when there is no such tenant. To be called before anything of the tenant is locked. */
export async function holdStatus(client: Queryable, tenantId: string): Promise<TenantStatus | null> {
	const { rows } = await client.query<{ status: TenantStatus }>({
		name: 'hold-status',
		text: 'select status from tenant where id = $1::uuid for share',
		values: [tenantId],
	});
	return rows[0]?.status ?? null;
}
