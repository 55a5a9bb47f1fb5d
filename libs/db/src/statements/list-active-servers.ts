import type { Queryable } from '../client.js';

/** A mail server that may be chosen for a mail. */
export type ActiveServer = {
	readonly id: string;
	readonly tenantId: string;
	readonly tier: 'TENANT' | 'PLATFORM';
	readonly isDefault: boolean;
	readonly fromAddress: string;
	readonly fromName: string | null;
	readonly allowedFrom: readonly string[];
};

/**
 * The active mail servers that a tenant's mails may go through: its own and the platform's, which serve tenants without one. Read by the list index of the configs and by tenant_one_platform:
 * one `or` over both tables would read every config of every tenant.
 */
export async function listActiveServers(pool: Queryable, tenantId: string): Promise<ActiveServer[]> {
	const { rows } = await pool.query<ActiveServer>({
		name: 'list-active-servers',
		text: `
			select c.id, c.tenant_id as "tenantId", t.kind as tier, c.is_default as "isDefault",
				c.from_address as "fromAddress", c.from_name as "fromName", c.allowed_from as "allowedFrom"
			from (select id, kind from tenant where id = $1 union select id, kind from tenant where kind = 'PLATFORM') t
			cross join lateral (select * from mail_send_server_config where tenant_id = t.id and active order by id desc) c`,
		values: [tenantId],
	});
	return rows;
}
