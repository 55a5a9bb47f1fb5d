import type { Queryable } from '../client.js';
import type { Settled } from '../settling.js';
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
		select id, attempt_no, claimed_at, split_part(claimed_by, ' ', 1) as worker, not (hold and handed_over_at is null) as ambiguous
		from send_state where status = 'SENDING' and lease_until < now() order by lease_until limit $1 for update skip locked
	),
	swept as (
		update send_state s set ${MOVE.set},
			budget_used = s.budget_used + 1,
			ambiguous = s.ambiguous or not (s.hold and s.handed_over_at is null),
			last_category = 'UNKNOWN',
			reason = case when s.not_after <= now() and not (s.hold and s.handed_over_at is not null) then 'too late' end
		where s.id = any(array(select id from stale)) and ${MOVE.guard}
		returning s.id, s.tenant_id, s.status, s.due_at, s.attempt_no
	),
	attempt as (
		insert into delivery_attempt (id, attempt_no, tenant_id, config_id, provider, worker, started_at, outcome, ambiguous, category, answer)
		select s.id, stale.attempt_no, s.tenant_id, r.config_id, $2, stale.worker, stale.claimed_at,
			case when stale.ambiguous then 'AMBIGUOUS' else 'UNKNOWN' end, stale.ambiguous, 'UNKNOWN', '${NOT_BACK}'
		from swept s join stale using (id) join send_record r using (id)
		on conflict do nothing
	),
	${leaveSending('swept', { category: `'UNKNOWN'`, error: `'${NOT_BACK}'` })}
	select s.id, s.status, s.due_at, r.flow_id, s.attempt_no, s.id in (select record_id from letter) as lettered from swept s join send_record r using (id)`;

/** A record whose lease was swept: where it went, the flow to wake when it is due again, and whether a dead letter was opened. */
export type Swept = Settled & { readonly attemptNo: number };

/**
 * Ends leases that ran out, at most `limit` at a time: RETRY due at once, or HELD, EXPIRED, DEAD_LETTER. Crosses tenants by nature: a lease belongs to a worker.
 * Walks the partial index on the lease. A row that its worker is settling right now is skipped and found settled next time; status, version and lease are judged under the row's lock.
 */
export async function sweepLeases(pool: Queryable, limit: number, provider = 'smtp'): Promise<Swept[]> {
	const { rows } = await pool.query<Row>({
		name: 'sweep-leases',
		text: TEXT,
		values: [limit, provider],
	});
	return rows.map(({ id, status, due_at: dueAt, flow_id: flowId, attempt_no: attemptNo, lettered }) => ({
		id,
		status,
		dueAt,
		flowId,
		attemptNo,
		lettered,
	}));
}

type Row = { id: string; status: string; due_at: Date | null; flow_id: string; attempt_no: number; lettered: boolean };
