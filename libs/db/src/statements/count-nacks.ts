import type { Queryable } from '../client.js';
import { moveRecords, recordsAt } from '../transition.js';

/** A message whose handling failed in a way that nobody understands. `error`: a short reason without personal data, kept with the letter. */
export type NackedMessage = {
	readonly recordId: string;
	readonly tenantId: string;
	readonly topic: string;
	readonly messageId: string;
	readonly envelope: string;
	readonly error: string;
};

/** With this failure in a row a record is given up. */
export const NACKS_BEFORE_POISON = 5;

const MOVE = moveRecords('poison', { row: 's', to: 'DEAD_LETTER' });

const TEXT = `
	with m as materialized (
		select distinct on (id) * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
			as m (id, tenant_id, topic, message_id, envelope, error)
	),
	open as materialized (
		select s.id, e.nacks + 1 >= ${NACKS_BEFORE_POISON} as spent
		from m join send_state s using (id, tenant_id) join outbox_entry e on e.id = s.id
		where ${recordsAt('poison', 's')}
		order by s.id for update of s, e
	),
	counted as (update outbox_entry e set nacks = e.nacks + 1 where e.id = any(array(select id from open where not spent))),
	given_up as (
		update send_state s set ${MOVE.set}, reason = 'poison' where s.id = any(array(select id from open where spent)) and ${MOVE.guard}
		returning s.id, s.tenant_id, s.version
	),
	entry as (delete from outbox_entry where id = any(array(select id from given_up))),
	letter as (
		insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, error, topic, message_id, envelope)
		select uuid_v7(), g.tenant_id, 'BROKER_POISON', g.id, r.channel, r.type, m.error, m.topic,
			-- The same message may have led to a letter before, when its ack was lost; the letter is needed all the same.
			m.message_id || case when exists (select from dead_letter_message l where l.topic = m.topic and l.message_id = m.message_id) then '/' || g.version else '' end,
			to_jsonb(m.envelope)
		from given_up g join send_record r using (id) join m using (id)
		on conflict do nothing
	)
	select id from given_up`;

/**
 * Counts a failure against the outbox entries of these messages' records. With the fifth the record is given up in the same transaction: DEAD_LETTER, its entry goes, and a letter (BROKER_POISON) keeps
 * the message. Returns the ids of those. A record that is claimed, finished, unknown or another tenant's is left alone: its lease and budget count. A record counts once for all its messages here.
 * Each record's state is locked before its entry, in id order, as a claim does.
 */
export async function countNacks(pool: Queryable, messages: readonly NackedMessage[]): Promise<string[]> {
	const of = <K extends keyof NackedMessage>(key: K): string[] => messages.map((one) => one[key]);
	const { rows } = await pool.query<{ id: string }>({
		name: 'count-nacks',
		text: TEXT,
		values: [of('recordId'), of('tenantId'), of('topic'), of('messageId'), of('envelope'), of('error')],
	});
	return rows.map((row) => row.id);
}
