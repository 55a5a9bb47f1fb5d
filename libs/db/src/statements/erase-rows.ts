import type { Queryable } from '../client.js';

/** What a tenant has beside its records, in the order in which it is erased: its keys last, so that they can read until then. */
export const TENANT_TABLES = [
	'dead_letter_replay',
	'dead_letter_message',
	'dedupe_key',
	'idempotency_key',
	'flow',
	'gate',
	'mail_send_server_config',
	'tenant_message_quota',
	'tenant_message_usage',
	'api_key',
] as const;

/**
 * Erases rows of a tenant from one of these tables, at most `limit` at a time, in the caller's transaction. Returns how many.
 * By the index that begins with the tenant, which each of them has but `gate`, a small one. A row that is changed meanwhile is found the next time.
 */
export async function eraseRows(
	client: Queryable,
	tenantId: string,
	{ table, limit }: { table: (typeof TENANT_TABLES)[number]; limit: number },
): Promise<number> {
	const { rowCount } = await client.query({
		name: `erase-rows-${table}`,
		text: `delete from ${table} where ctid = any(array(select ctid from ${table} where tenant_id = $1 limit $2)) and tenant_id = $1`,
		values: [tenantId, limit],
	});
	return rowCount ?? 0;
}
