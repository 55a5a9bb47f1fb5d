import type { Queryable } from '../client.js';

/**
 * Lets every lease run out now, of records and of outbox entries. Only for a process that knows that nobody else works on this database: standalone at its start.
 * Crosses tenants by nature. Touches no status: the sweeps do the rest by their own rules.
 */
export async function endLeases(pool: Queryable): Promise<void> {
	await pool.query(`
		with record as (update send_state set lease_until = now() where status = 'SENDING' and lease_until > now())
		update outbox_entry set lease_until = now() where taken and lease_until > now()`);
}
