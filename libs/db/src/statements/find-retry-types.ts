import type { RetryTypes } from '@tidings/model';
import type { Queryable } from '../client.js';

/** The retry policies that a tenant has of its own, by message type; none when it has none. Read by the primary key. */
export async function findRetryTypes(pool: Queryable, tenantId: string): Promise<RetryTypes> {
	const { rows } = await pool.query<{ types: RetryTypes | null }>({
		name: 'find-retry-types',
		text: `select settings -> 'retryTypes' as types from tenant where id = $1`,
		values: [tenantId],
	});
	return rows[0]?.types ?? {};
}
