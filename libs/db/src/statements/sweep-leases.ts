import type { Queryable } from '../client.js';
import { moveRecords } from '../transition.js';
import { leaveSending } from './leave-sending.js';

const MOVE = moveRecords('sweep', {
	row: 's',
	to: {
		sql: `case
			when s.hold and s.handed_over_at is not null then 'HELD'
			when s.not_after <= now() then 'EXPIRED'
			when s.budget_used + 1 >= s.budget_max then 'DEAD_LETTER'
			else 'RETRY' end`,
	},
});

const NOT_BACK = 'the worker did not come back before its lease ended';

const TEXT = `
	with stale as materialized (
		select id, attempt_no, claimed_at, claimed_by, not (hold and handed_over_at is null) as ambiguous
		from send_state where status = 'SENDING' and lease_until < now() order by lease_until limit $1 for update skip locked
	),
	swept as (
		update send_state s set ${MOVE.set},
			budget_used = s.budget_used + 1,
			ambiguous = s.ambiguous or not (s.hold and s.handed_over_at is null),
			last_category = 'UNKNOWN',
			reason = case when s.not_after <= now() and not (s.hold and s.handed_over_at is not null) then 'too late' end
		where s.id = any(array(select id from stale)) and ${MOVE.guard}
		returning s.id, s.tenant_id, s.status, s.due_at
	),
	attempt as (
		insert into delivery_attempt (id, attempt_no, tenant_id, config_id, provider, worker, started_at, outcome, ambiguous, category, answer)
		select s.id, stale.attempt_no, s.tenant_id, r.config_id, $2, stale.claimed_by, stale.claimed_at,
			case when stale.ambiguous then 'AMBIGUOUS' else 'UNKNOWN' end, stale.ambiguous, 'UNKNOWN', '${NOT_BACK}'
		from swept s join stale using (id) join send_record r using (id)
		on conflict do nothing
	),
	${leaveSending('swept', { category: `'UNKNOWN'`, error: `'${NOT_BACK}'` })}
	select s.id, s.status, s.due_at, r.flow_id from swept s join send_record r using (id)`;

/** A record whose lease was swept: where it went, and the flow to wake when it is due again. */
export type Swept = { readonly id: string; readonly status: string; readonly dueAt: Date | null; readonly flowId: string };

/**
 * Ends leases that ran out, at most `limit` at a time: RETRY due at once, or HELD, EXPIRED, DEAD_LETTER. Crosses tenants by nature: a lease belongs to a worker.
 * Walks the partial index on the lease. A row that its worker is settling right now is skipped and found settled next time; status, version and lease are judged under the row's lock.
 */
export async function sweepLeases(pool: Queryable, limit: number, provider = 'smtp'): Promise<Swept[]> {
	const { rows } = await pool.query<{ id: string; status: string; due_at: Date | null; flow_id: string }>({
		name: 'sweep-leases',
		text: TEXT,
		values: [limit, provider],
	});
	return rows.map((row) => ({ id: row.id, status: row.status, dueAt: row.due_at, flowId: row.flow_id }));
}
