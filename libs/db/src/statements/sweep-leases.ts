import type { Queryable } from '../client.js';
import { moveEntries, moveRecords } from '../transition.js';

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

/**
 * The claim has removed the entry, but for one case: a claim that waited for somebody's retry does not see the entry which that made, for its snapshot is older.
 * So a leftover is made fresh for a record that is due again, and removed for one that is not.
 */
const FRESH = moveEntries('requeue', { row: 'e', to: 'NEW' });

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
			case when stale.ambiguous then 'AMBIGUOUS' else 'UNKNOWN' end, stale.ambiguous, 'UNKNOWN', 'the worker did not come back before its lease ended'
		from swept s join stale using (id) join send_record r using (id)
		on conflict do nothing
	),
	entry as (
		insert into outbox_entry as e (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
		select s.id, s.tenant_id, r.route, r.lane, r.config_id, r.flow_id, s.due_at, r.trace_id, r.traceparent
		from swept s join send_record r using (id) where s.due_at is not null
		on conflict (id) do update set ${FRESH.set}, due_at = excluded.due_at
	),
	stray as (delete from outbox_entry where id = any(array(select id from swept where due_at is null))),
	letter as (
		insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, category, error)
		select uuid_v7(), s.tenant_id, case s.status when 'HELD' then 'AMBIGUOUS' when 'EXPIRED' then 'EXPIRED' else 'SEND_EXHAUSTED' end,
			s.id, r.channel, r.type, 'UNKNOWN', 'the worker did not come back before its lease ended'
		from swept s join send_record r using (id)
		where s.status in ('DEAD_LETTER', 'HELD') or (s.status = 'EXPIRED' and r.valid_until is null)
		on conflict do nothing
	)
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
