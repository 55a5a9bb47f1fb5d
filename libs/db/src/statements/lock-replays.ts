import type { Queryable } from '../client.js';

/**
 * Lets one transaction at a time start replays of a tenant, until it ends. An advisory lock, so that turns of its replays, which hold the tenant's row, do not wait for it.
 * Whoever counts must do so in a later statement: this one's snapshot may be older than the lock.
 */
export async function lockReplays(client: Queryable, tenantId: string): Promise<void> {
	await client.query({
		name: 'lock-replays',
		text: `select pg_advisory_xact_lock(hashtextextended('replays ' || $1::uuid::text, 7))::text as locked`,
		values: [tenantId],
	});
}
