const HALTED = `(status = 'SUSPENDED' or queued = 'cancel')`;

/**
 * The tenants whose mail is neither published nor claimed: suspended, or being deleted together with what waits. To be embedded as `tenant_id in (…)`:
 * a hashed subplan, read once a statement by the index tenant_halted, however many rows are looked at.
 */
export const HALTED_TENANTS = `select id from tenant where ${HALTED}`;

/**
 * Those among `tenants` (SQL that yields an array) whose mail is halted. To be embedded as `tenant_id <> all(…)`: read once, before the rows. Beside a look-up of many rows by primary key
 * the other form is counted for each row, so that with some thousand halted tenants the planner walked all of send_state instead.
 */
export function haltedAmong(tenants: string): string {
	return `array(select id from tenant where ${HALTED} and id = any(${tenants}))`;
}
