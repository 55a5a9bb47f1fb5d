import type { Queryable } from '../client.js';
import { moveRecords } from '../transition.js';
import { SUPERSEDED, supersedePoison } from './supersede-poison.js';

const MOVE = moveRecords('expire', { row: 's', to: 'EXPIRED' });

/** A record that came too late: how many attempts it had, and whether a dead letter was opened. */
export type Expired = { readonly id: string; readonly attemptNo: number; readonly lettered: boolean };

/**
 * Ends open records that came too late, at most `limit` at a time, with their outbox entries; by the default age each leaves a dead letter. Crosses tenants by nature: time does.
 * Walks the partial index on `not_after`. Needed beside the claim because a record behind a closed gate is never claimed. Returns which they are.
 */
export async function expireRecords(pool: Queryable, limit: number): Promise<Expired[]> {
	const { rows } = await pool.query<{ id: string; attempt_no: number; lettered: boolean }>({
		name: 'expire-records',
		text: `
			with late as materialized (
				select id from send_state where status in ('PENDING', 'RETRY') and not_after <= now() order by not_after limit $1 for update skip locked
			),
			expired as (
				update send_state s set ${MOVE.set}, reason = 'too late' where s.id = any(array(select id from late)) and ${MOVE.guard}
				returning s.id, s.tenant_id, s.last_category, s.attempt_no
			),
			entry as (delete from outbox_entry where id = any(array(select id from expired))),
			owed as materialized (select e.*, r.channel, r.type from expired e join send_record r using (id) where r.valid_until is null),
			${supersedePoison('owed')},
			letter as (
				insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, category, error)
				select uuid_v7(), e.tenant_id, 'EXPIRED', e.id, e.channel, e.type, e.last_category, 'not sent within its default age'
				from owed e where ${SUPERSEDED}
				on conflict do nothing
				returning record_id
			)
			select id, attempt_no, id in (select record_id from letter) as lettered from expired`,
		values: [limit],
	});
	return rows.map((row) => ({ id: row.id, attemptNo: row.attempt_no, lettered: row.lettered }));
}
