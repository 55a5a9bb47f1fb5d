import type pg from 'pg';
import type { Settled, Settlement } from '../settling.js';
import { moveLetters, moveRecords } from '../transition.js';
import { inTransaction } from '../tx.js';
import { RECIPIENTS, SETTLEMENTS, settlementColumns } from './settle-records.js';

const MOVE = moveRecords('settle-late', { row: 's', to: 'SENT' });
const LETTER = moveLetters('resolve', { row: 'l', to: 'RESOLVED' });

const TEXT = `
	with ${SETTLEMENTS},
	newest as materialized (
		select i.*, s.status as status from i join send_state s on s.id = i.id and s.tenant_id = i.tenant_id
		where s.attempt_no = i.attempt_no and ${MOVE.guard}
		order by s.id for update of s
	),
	accepted as (
		update send_recipient q set outcome = 'ACCEPTED', category = null, stage = j.stage, code = j.code, enhanced_code = j.enhanced_code, answer = j.answer
		from ${RECIPIENTS}
		where q.id = j.id and q.n = j.n and j.id = any(array(select id from newest)) and j.outcome = 'ACCEPTED'
	),
	settled as (
		update send_state s set ${MOVE.set}, partial = n.partial, last_category = null, reason = null
		from newest n where s.id = n.id and s.id = any(array(select id from newest)) and n.target = 'SENT' and ${MOVE.guard}
		returning s.id, s.status
	),
	entry as (delete from outbox_entry where id = any(array(select id from settled))),
	letter as (
		update dead_letter_message l set ${LETTER.set}, resolution = 'delivered', actor = 'late success'
		where l.record_id = any(array(select id from settled)) and ${LETTER.guard}
	),
	attempt as (
		insert into delivery_attempt (id, attempt_no, tenant_id, config_id, provider, worker, published_at, started_at, outcome, ambiguous, category, stage, code, enhanced_code, answer, provider_message_id)
		select i.id, i.attempt_no, i.tenant_id, i.config_id, i.provider, i.worker, i.published_at, i.started_at, i.outcome, i.ambiguous, i.category, i.stage, i.code, i.enhanced_code, i.answer, i.provider_message_id
		from i join send_state s on s.id = i.id and s.tenant_id = i.tenant_id
		on conflict (id, attempt_no, try_no) do update set
			published_at = excluded.published_at, finished_at = now(), outcome = excluded.outcome, ambiguous = delivery_attempt.ambiguous or excluded.ambiguous,
			category = excluded.category, stage = excluded.stage, code = excluded.code, enhanced_code = excluded.enhanced_code, answer = excluded.answer,
			provider_message_id = excluded.provider_message_id
	)
	select s.id, s.status, null::timestamptz as due_at, r.flow_id from settled s join send_record r using (id)`;

/**
 * What a worker writes whose lease was swept. While its attempt is the newest, an acceptance counts: RETRY|HELD → SENT, its outbox entry goes,
 * its letter is resolved; recipients that were accepted are never addressed again. In every other case only the attempt row says what happened; it stays ambiguous once it was.
 */
export async function settleLate(pool: pg.Pool, settlements: readonly Settlement[]): Promise<Settled[]> {
	const { rows } = await inTransaction(pool, async (client) => {
		// A statement of its own, so that the next one's snapshot is younger than the locks: else it would not see the outbox entry of a release that it waited for.
		await client.query({
			name: 'lock-states',
			text: 'select from send_state where id = any($1::uuid[]) and tenant_id = any($2::uuid[]) order by id for update',
			values: [settlements.map((one) => one.id), settlements.map((one) => one.tenantId)],
		});
		return await client.query<{ id: string; status: string; flow_id: string }>({
			name: 'settle-late',
			text: TEXT,
			values: settlementColumns(settlements),
		});
	});
	return rows.map((row) => ({ id: row.id, status: row.status, dueAt: null, flowId: row.flow_id, lettered: false }));
}
