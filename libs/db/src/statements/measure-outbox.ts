import type { Queryable } from '../client.js';
import { HALTED_TENANTS } from './halted-tenants.js';

/** What the gauges show: open records, outbox entries and how late the oldest due one is, and how long due records wait for a sender. */
export type OutboxMeasures = {
	readonly records: readonly { channel: string; status: string; count: number }[];
	readonly entries: readonly { route: string; status: string; count: number; oldestDueSeconds: number }[];
	readonly queues: readonly { route: string; lane: string; oldestSeconds: number }[];
};

/** Counts over all tenants, for metrics without a tenant label. What a halted tenant keeps waiting on purpose is counted, but makes nothing late. Each reads only what is open: by a partial index, or the outbox. */
export async function measureOutbox(pool: Queryable): Promise<OutboxMeasures> {
	const [records, entries, queues] = await Promise.all([
		pool.query<{ channel: string; status: string; count: number }>(`
			select 'MAIL' as channel, status, count(*)::int as count from send_state where status in ('PENDING', 'RETRY') group by 2
			union all select 'MAIL', status, count(*)::int from send_state where status = 'SENDING' group by 2
			-- A held record has an open letter, and no index of its own to be counted by.
			union all select 'MAIL', 'HELD', count(*)::int from dead_letter_message where status = 'PENDING' and source = 'AMBIGUOUS'`),
		pool.query<{ route: string; status: string; count: number; oldest: number }>(`
			select route, status, count(*)::int as count, coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now() and tenant_id not in (${HALTED_TENANTS}))), 0)::float8 as oldest
			from outbox_entry where not taken group by 1, 2
			union all select route, status, count(*)::int, 0 from outbox_entry where taken group by 1, 2
			union all select route, status, count(*)::int, 0 from outbox_entry where taken is null group by 1, 2`),
		// An entry goes when its record is claimed, so the oldest due one of any status tells how long records wait.
		pool.query<{ route: string; lane: string; oldest: number }>(`
			select route, lane, extract(epoch from now() - min(due_at))::float8 as oldest from outbox_entry where due_at <= now() and tenant_id not in (${HALTED_TENANTS}) group by 1, 2`),
	]);
	return {
		records: records.rows,
		entries: entries.rows.map(({ oldest, ...row }) => ({ ...row, oldestDueSeconds: oldest })),
		queues: queues.rows.map(({ oldest, ...row }) => ({ ...row, oldestSeconds: oldest })),
	};
}
