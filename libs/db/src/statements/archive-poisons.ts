import type { Channel } from '@tidings/model';
import type { Queryable } from '../client.js';
import type { PoisonMessage } from '../read-poison.js';

/** A letter that was made: what it is about, and whose it is. */
export type ArchivedPoison = {
	readonly id: string;
	readonly tenantId: string;
	/** Null when there is no such record, or when it has an open letter already. */
	readonly recordId: string | null;
	readonly channel: Channel | null;
	readonly topic: string;
	readonly messageId: string;
};

const COLUMNS = 'id, tenant_id, source, record_id, channel, type, topic, message_id, error, envelope';
const RETURNED = 'returning id, tenant_id as "tenantId", record_id as "recordId", channel, topic, message_id as "messageId"';

/*
 * Two inserts, for two things are unique: the message, and the open letter of a record (dead_letter_one_pending). The first takes any conflict as a no; what it did not take
 * goes in without its record, unless the message itself is archived. So no letter is lost to the open letter of its record, also when that one is written at this moment.
 * The rows go in by topic and message id, so that two archivers of the same messages do not dead-lock; send_record is read by its primary key.
 */
const TEXT = `
	with given as materialized (
		select g.topic, g.message_id, g.error, g.envelope, r.id as record_id, r.type, coalesce(r.channel, g.channel) as channel,
			coalesce(r.tenant_id, (select id from tenant where kind = 'PLATFORM'), '00000000-0000-0000-0000-000000000000') as tenant_id
		from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::uuid[])
			as g (topic, message_id, error, envelope, channel, record_id, tenant_id)
		left join send_record r on r.id = g.record_id and r.tenant_id = g.tenant_id
	),
	linked as (
		insert into dead_letter_message (${COLUMNS})
		select uuid_v7(), tenant_id, 'BROKER_POISON', record_id, channel, type, topic, message_id, error, to_jsonb(envelope)
		from given where record_id is not null order by topic, message_id
		on conflict do nothing
		${RETURNED}
	),
	plain as (
		insert into dead_letter_message (${COLUMNS})
		select uuid_v7(), tenant_id, 'BROKER_POISON', null, channel, type, topic, message_id, error, to_jsonb(envelope)
		from given g where not exists (select from linked l where l.topic = g.topic and l."messageId" = g.message_id) order by topic, message_id
		on conflict (topic, message_id) where topic is not null do nothing
		${RETURNED}
	)
	select * from linked union all select * from plain`;

/**
 * Archives poison as dead letters in one statement, each message once, and returns the letters that are new. A letter belongs to a tenant, and names its record, only when
 * there is a record of that id and that tenant; all others are the platform's own, for whose they are cannot be trusted. The records stay as they are.
 * `channel`: what the topic is for, where that is known.
 */
export async function archivePoisons(
	pool: Queryable,
	poisons: readonly (PoisonMessage & { readonly channel: Channel | null })[],
): Promise<ArchivedPoison[]> {
	const { rows } = await pool.query<ArchivedPoison>({
		name: 'archive-poisons',
		text: TEXT,
		values: [
			poisons.map((one) => one.topic),
			poisons.map((one) => one.messageId),
			poisons.map((one) => one.reason),
			poisons.map((one) => one.envelope),
			poisons.map((one) => one.channel),
			poisons.map((one) => one.recordId),
			poisons.map((one) => one.tenantId),
		],
	});
	return rows;
}
