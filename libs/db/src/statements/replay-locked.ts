import type { DeadLetterStatus, ReplayRefusal, SendStatus } from '@tidings/model';
import { DEFAULT_AGE_SECONDS } from '../accepting.js';
import type { Queryable } from '../client.js';
import { moveEntries, moveLetters, moveRecords } from '../transition.js';
import { VERDICT, VERDICT_JOINS } from './replay-verdict.js';

/** What became of one letter that was to be replayed. */
export type ReplayedLetter = {
	readonly id: string;
	readonly letterStatus: DeadLetterStatus;
	/** Where its message stood before; null when there is none. */
	readonly messageStatus: SendStatus | null;
	/** Null: it was replayed. */
	readonly refusal: ReplayRefusal | null;
	/** The flow that has something new; null when it was not replayed. */
	readonly flowId: string | null;
};

/** Who replays, and why. `replayId`: of how many it is one. */
export type ReplayDeed = {
	readonly actor: string;
	readonly note: string | null;
	readonly traceId: string;
	readonly replayId: string | null;
};

const RETRY = moveRecords('retry', { row: 's', to: { sql: `case when s.status in ('PENDING', 'RETRY') then s.status else 'RETRY' end` } });
const RESEND = moveRecords('release', { row: 's', to: 'RETRY' });
const FRESH = moveEntries('requeue', { row: 'e', to: 'NEW' });
const CLOSE = moveLetters('resolve', { row: 'l', to: 'RESOLVED' });

const DEADLINE = `coalesce(g.valid_until, now() + make_interval(secs => (select coalesce((settings->>'maxAgeHours')::int * 3600, ${DEFAULT_AGE_SECONDS}) from tenant where id = $1::uuid)))`;

/*
 * As `:retry` and `:release resend` of one message do it, for many: the record moves, gets a fresh outbox entry, its letter is resolved, and the audit tells both.
 * Letters are locked after the states, in id order; whoever closed one meanwhile has won.
 */
const TEXT = `
	with letter as materialized (
		select * from dead_letter_message where id = any($2::uuid[]) and tenant_id = $1::uuid order by id for update
	),
	judged as materialized (
		select l.id, l.status as letter_status, l.record_id, s.status, r.flow_id, r.valid_until, ${VERDICT} as refusal
		from letter l ${VERDICT_JOINS}
	),
	good as materialized (select * from judged where refusal is null),
	retried as (
		update send_state s set ${RETRY.set}, reason = null, not_after = ${DEADLINE},
			budget_max = case when g.status in ('PENDING', 'RETRY') then s.budget_max else s.budget_used + 1 end
		from good g
		where s.id = g.record_id and s.id = any(array(select record_id from good)) and s.tenant_id = $1::uuid and g.status <> 'HELD' and ${RETRY.guard}
		returning s.id
	),
	resent as (
		update send_state s set ${RESEND.set}, not_after = ${DEADLINE}, budget_max = greatest(s.budget_max, s.budget_used + 1)
		from good g
		where s.id = g.record_id and s.id = any(array(select record_id from good)) and s.tenant_id = $1::uuid and g.status = 'HELD' and ${RESEND.guard}
		returning s.id
	),
	done as materialized (select g.* from good g join (select id from retried union all select id from resent) as m on m.id = g.record_id),
	-- Only what is open is addressed. Where nothing is (all were refused for good), they are asked again.
	reopened as (
		update send_recipient q set outcome = 'OPEN'
		where q.id = any(array(select record_id from done where status in ('DEAD_LETTER', 'EXPIRED'))) and q.tenant_id = $1::uuid and q.outcome = 'REFUSED'
			and not exists (select from send_recipient o where o.id = q.id and o.tenant_id = $1::uuid and o.outcome = 'OPEN')
	),
	entry as (
		insert into outbox_entry as e (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
		select r.id, r.tenant_id, r.route, r.lane, r.config_id, r.flow_id, now(), r.trace_id, r.traceparent
		from send_record r where r.id = any(array(select record_id from done)) and r.tenant_id = $1::uuid order by r.id
		on conflict (id) do update set ${FRESH.set}, due_at = now(), refusals = 0, heals = 0, nacks = 0
	),
	closed as (
		update dead_letter_message l set ${CLOSE.set}, resolution = 'replayed', actor = $3, note = $4
		where l.id = any(array(select id from done)) and l.tenant_id = $1::uuid and ${CLOSE.guard}
	),
	audited as (
		insert into audit_event (id, tenant_id, actor, action, subject_type, subject_id, detail, trace_id)
		select uuid_v7(), $1::uuid, $3, e.action, e.subject_type, e.subject_id, e.detail || jsonb_build_object('note', $4::text), $5
		from done d cross join lateral (values
			('dead-letter.replay', 'dead-letter', d.id, jsonb_build_object('messageId', d.record_id, 'replayId', $6::text)),
			(case d.status when 'HELD' then 'message.release' else 'message.retry' end, 'message', d.record_id,
				jsonb_build_object('from', d.status, 'to', case d.status when 'PENDING' then 'PENDING' else 'RETRY' end, 'deadLetterId', d.id)
				|| case d.status when 'HELD' then '{"resolution": "resend"}' else '{}' end::jsonb)
		) as e (action, subject_type, subject_id, detail)
	)
	select j.id, j.letter_status as "letterStatus", j.status as "messageStatus", d.flow_id as "flowId",
		case when d.id is null then coalesce(j.refusal, 'message-state') end as refusal
	from judged j left join done d using (id)`;

/** Replays those of these letters that can be, and says of each that there is what became of it. The states of their messages are locked before, by `lockReplayed`, in the same transaction. */
export async function replayLocked(
	client: Queryable,
	tenantId: string,
	letterIds: readonly string[],
	deed: ReplayDeed,
): Promise<ReplayedLetter[]> {
	const { rows } = await client.query<Omit<ReplayedLetter, 'flowId'> & { flowId: string | bigint | null }>({
		name: 'replay-locked',
		text: TEXT,
		values: [tenantId, letterIds, deed.actor, deed.note, deed.traceId, deed.replayId],
	});
	return rows.map((row) => ({ ...row, flowId: row.flowId === null ? null : String(row.flowId) }));
}
