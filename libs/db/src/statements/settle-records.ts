import type { Queryable } from '../client.js';
import type { Settled, Settlement } from '../settling.js';
import { moveRecords } from '../transition.js';
import { leaveSending } from './leave-sending.js';

const MOVE = moveRecords('settle', { row: 's', to: { sql: 'd.target' }, due: 'now() + make_interval(secs => d.delay)' });

/** The parameters of a settling statement as rows: `i` of records, `j` of their recipients. See `settlementColumns`. */
export const SETTLEMENTS = `i as materialized (
		select * from unnest(
			$1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::int[], $6::text[], $7::float8[], $8::boolean[], $9::boolean[], $10::boolean[],
			$11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::boolean[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[]
		) as i (
			id, tenant_id, config_id, attempt_no, version, target, delay, burns, waits, partial,
			provider, worker, published_at, started_at, outcome, ambiguous, category, stage, code, enhanced_code, answer, provider_message_id
		)
	)`;
export const RECIPIENTS = `unnest($23::uuid[], $24::int[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[], $30::text[])
			as j (id, n, outcome, category, stage, code, enhanced_code, answer)`;

const TEXT = `
	with ${SETTLEMENTS},
	mine as materialized (
		select i.*, case when i.target = 'RETRY' and s.not_after <= now() + make_interval(secs => i.delay) then 'EXPIRED' else i.target end as final
		from i join send_state s on s.id = i.id and s.tenant_id = i.tenant_id
		where s.attempt_no = i.attempt_no and s.version = i.version and s.status || '' = 'SENDING'
		order by s.id for update of s
	),
	d as (select id, final as target, delay, burns, waits, partial, ambiguous, category, outcome from mine),
	settled as (
		update send_state s set ${MOVE.set},
			budget_used = s.budget_used + case when d.burns then 1 else 0 end,
			waits = s.waits + case when d.waits then 1 else 0 end,
			-- UNKNOWN: it was given back untried, and what was known before stays true.
			quota_since = case when d.category = 'QUOTA' then coalesce(s.quota_since, now()) when d.outcome = 'UNKNOWN' then s.quota_since end,
			partial = d.partial,
			ambiguous = s.ambiguous or d.ambiguous,
			last_category = case when d.outcome = 'UNKNOWN' then s.last_category else d.category end,
			reason = case when d.target = 'EXPIRED' then 'too late' end
		from d where s.id = d.id and s.id = any(array(select id from mine)) and ${MOVE.guard}
		returning s.id, s.tenant_id, s.status, s.due_at, s.last_category
	),
	recipient as (
		update send_recipient q set outcome = j.outcome, category = j.category, stage = j.stage, code = j.code, enhanced_code = j.enhanced_code, answer = j.answer
		from ${RECIPIENTS}
		-- The condition stands on j: on q it made the plan walk all of j for each recipient of the table (20 mails × 300 recipients: 14 s instead of 0.15 s).
		where q.id = j.id and q.n = j.n and j.id = any(array(select id from mine))
	),
	attempt as (
		insert into delivery_attempt (id, attempt_no, tenant_id, config_id, provider, worker, published_at, started_at, outcome, ambiguous, category, stage, code, enhanced_code, answer, provider_message_id)
		select id, attempt_no, tenant_id, config_id, provider, worker, published_at, started_at, outcome, ambiguous, category, stage, code, enhanced_code, answer, provider_message_id from mine
	),
	${leaveSending('settled', { category: 's.last_category', error: '(select answer from mine where mine.id = s.id)' })}
	select s.id, s.status, s.due_at, r.flow_id, s.id in (select record_id from letter) as lettered from settled s join send_record r using (id)`;

type Row = { id: string; status: string; due_at: Date | null; flow_id: string; lettered: boolean };

/**
 * Settles a batch of attempts in one statement: the records, their recipients, the attempt rows, the outbox entries of retries and the dead letters.
 * A record stands in a batch at most once. Only those whose attempt and version still match are settled and returned; the others have lost (see settle-late).
 * Rows are locked in id order, so that batches and sweepers never dead-lock.
 */
export async function settleRecords(pool: Queryable, settlements: readonly Settlement[]): Promise<Settled[]> {
	const { rows } = await pool.query<Row>({ name: 'settle-records', text: TEXT, values: settlementColumns(settlements) });
	return rows.map((row) => ({ id: row.id, status: row.status, dueAt: row.due_at, flowId: row.flow_id, lettered: row.lettered }));
}

/** The 30 parameter arrays that both settling statements take: 22 of records, 8 of recipients. */
export function settlementColumns(settlements: readonly Settlement[]): unknown[] {
	const recipients = settlements.flatMap((one) => one.recipients.map((recipient) => ({ id: one.id, recipient })));
	const of = <K extends keyof Settlement>(key: K): Settlement[K][] => settlements.map((one) => one[key]);
	const attempt = <K extends keyof Settlement['attempt']>(key: K): Settlement['attempt'][K][] => settlements.map((one) => one.attempt[key]);
	return [
		of('id'),
		of('tenantId'),
		of('configId'),
		of('attemptNo'),
		of('version'),
		of('to'),
		of('delaySeconds'),
		of('burns'),
		of('waits'),
		of('partial'),
		attempt('provider'),
		attempt('worker'),
		attempt('publishedAt'),
		attempt('startedAt'),
		attempt('outcome'),
		attempt('ambiguous'),
		attempt('category'),
		attempt('stage'),
		attempt('code'),
		attempt('enhancedCode'),
		attempt('text'),
		attempt('providerMessageId'),
		recipients.map((one) => one.id),
		recipients.map((one) => one.recipient.n),
		recipients.map((one) => one.recipient.outcome),
		recipients.map((one) => one.recipient.category),
		recipients.map((one) => one.recipient.stage),
		recipients.map((one) => one.recipient.code),
		recipients.map((one) => one.recipient.enhancedCode),
		recipients.map((one) => one.recipient.text),
	];
}
