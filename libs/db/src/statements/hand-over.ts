import type { Queryable } from '../client.js';

/**
 * The durable mark that everything is about to be handed to the provider: a compare-and-swap on (id, tenant, attempt, SENDING, lease not over).
 * False: somebody else owns the record now, and nothing may be sent.
 */
export async function handOver(pool: Queryable, record: { id: string; tenantId: string; attemptNo: number }): Promise<boolean> {
	const { rowCount } = await pool.query({
		name: 'hand-over',
		text: `
			update send_state set handed_over_at = now()
			where id = $1 and tenant_id = $2 and attempt_no = $3 and status || '' = 'SENDING' and lease_until > now()`,
		values: [record.id, record.tenantId, record.attemptNo],
	});
	return rowCount === 1;
}
