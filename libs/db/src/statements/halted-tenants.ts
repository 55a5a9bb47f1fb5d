/**
 * The tenants whose mail is neither published nor claimed: suspended, or being deleted together with what waits. To be embedded as `tenant_id in (…)`:
 * a hashed subplan, read once a statement by the index tenant_halted, however many rows are looked at.
 */
export const HALTED_TENANTS = `select id from tenant where status = 'SUSPENDED' or queued = 'cancel'`;
