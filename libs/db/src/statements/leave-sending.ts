import { moveEntries } from '../transition.js';
import { SUPERSEDED, supersedePoison } from './supersede-poison.js';

/**
 * The claim has removed the entry, but for one case: a claim that waited for somebody's retry does not see the entry which that made, for its snapshot is older.
 * So a leftover is made fresh for a record that is due again, and removed for one that is not.
 */
const FRESH = moveEntries('requeue', { row: 'e', to: 'NEW' });

/**
 * What belongs to records that leave SENDING, in the statement that moves them: an outbox entry for each that is due again, and a letter for each that is given up, held, or too late by the default age.
 * `letter` then names the records that got a letter. `moved` names the CTE of the moved rows (id, tenant_id, status, due_at); `category` and `error` are SQL for the letter, where `s` is such a row.
 */
export function leaveSending(moved: string, { category, error }: { category: string; error: string }): string {
	return `entry as (
		insert into outbox_entry as e (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
		select s.id, s.tenant_id, r.route, r.lane, r.config_id, r.flow_id, s.due_at, r.trace_id, r.traceparent
		from ${moved} s join send_record r using (id) where s.due_at is not null
		on conflict (id) do update set ${FRESH.set}, due_at = excluded.due_at
	),
	stray as (delete from outbox_entry where id = any(array(select id from ${moved} where due_at is null))),
	owed as materialized (
		select s.*, r.channel, r.type from ${moved} s join send_record r using (id)
		where s.status in ('DEAD_LETTER', 'HELD') or (s.status = 'EXPIRED' and r.valid_until is null)
	),
	${supersedePoison('owed')},
	letter as (
		insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, category, error)
		select uuid_v7(), s.tenant_id, case s.status when 'HELD' then 'AMBIGUOUS' when 'EXPIRED' then 'EXPIRED' else 'SEND_EXHAUSTED' end,
			s.id, s.channel, s.type, ${category}, ${error}
		from owed s where ${SUPERSEDED}
		on conflict do nothing
		returning record_id
	)`;
}
