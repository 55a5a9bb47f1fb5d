import type { Queryable } from '../client.js';

/** Counts the replays of a tenant that are not done. By dead_letter_replay_running, which holds a few of each tenant at most. */
export async function countRunningOf(client: Queryable, tenantId: string): Promise<number> {
	const { rows } = await client.query<{ count: number }>({
		name: 'count-running-of',
		text: `select count(*)::int as count from dead_letter_replay where status = 'RUNNING' and tenant_id = $1::uuid`,
		values: [tenantId],
	});
	return rows[0]?.count ?? 0;
}

/** Counts the replays of all tenants that are not done, for a metric without a tenant label. By dead_letter_replay_running. */
export async function countRunning(pool: Queryable): Promise<number> {
	const { rows } = await pool.query<{ count: number }>({
		name: 'count-running',
		text: `select count(*)::int as count from dead_letter_replay where status = 'RUNNING'`,
	});
	return rows[0]?.count ?? 0;
}
