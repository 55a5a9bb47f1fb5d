import type { Queryable } from '../client.js';

/** The channel on which publishers listen. */
export const OUTBOX_CHANNEL = 'tidings_outbox';

/**
 * Tells the publishers that something was appended to these flows, due at the time beside each (null: now).
 * To be run after the commit of what was appended, and it locks always: a hint that looked first would race with a publisher that finds the flow empty.
 * A crash in between is healed by `wakeSleepingFlows`. It need not be durable for the same reason: run it on a connection with synchronous_commit off.
 */
export async function wakeFlows(client: Queryable, flows: readonly { flowId: string; dueAt: Date | null }[]): Promise<void> {
	await client.query({
		name: 'wake-flows',
		text: `
			with hint as materialized (
				select id, coalesce(min(due), clock_timestamp()) as due
				from (select id, coalesce(due, clock_timestamp()) as due from unnest($1::bigint[], $2::timestamptz[]) as h (id, due)) as h group by id
			),
			locked as materialized (select id, next_at from flow where id = any($1) order by id for no key update),
			woken as (
				update flow f set next_at = hint.due, held = 0
				from locked join hint using (id)
				where f.id = locked.id and coalesce(locked.next_at > hint.due, true)
				returning 1
			)
			select pg_notify('${OUTBOX_CHANNEL}', '') from (select count(*) from woken) as w`,
		values: [flows.map((one) => one.flowId), flows.map((one) => one.dueAt)],
	});
}
