import type { Queryable } from '../client.js';

/** What the gauges show: open records, outbox entries, and how late the oldest due entry is. */
export type OutboxMeasures = {
	readonly records: readonly { channel: string; status: string; count: number }[];
	readonly entries: readonly { route: string; status: string; count: number; oldestDueSeconds: number }[];
	readonly letters: readonly { source: string; count: number; oldestSeconds: number }[];
};

/** Counts over all tenants, for metrics without a tenant label. Each count reads a partial index that holds only what is open. */
export async function measureOutbox(pool: Queryable): Promise<OutboxMeasures> {
	const [records, entries, letters] = await Promise.all([
		pool.query<{ channel: string; status: string; count: number }>(`
			select 'MAIL' as channel, status, count(*)::int as count from send_state where status in ('PENDING', 'RETRY') group by 2
			union all select 'MAIL', status, count(*)::int from send_state where status = 'SENDING' group by 2`),
		pool.query<{ route: string; status: string; count: number; oldest: number }>(`
			select route, status, count(*)::int as count, coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now())), 0)::float8 as oldest
			from outbox_entry where not taken group by 1, 2
			union all select route, status, count(*)::int, 0 from outbox_entry where taken group by 1, 2
			union all select route, status, count(*)::int, 0 from outbox_entry where taken is null group by 1, 2`),
		pool.query<{ source: string; count: number; oldest: number }>(`
			select source, count(*)::int as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest
			from dead_letter_message where status = 'PENDING' group by 1`),
	]);
	return {
		records: records.rows,
		entries: entries.rows.map(({ oldest, ...row }) => ({ ...row, oldestDueSeconds: oldest })),
		letters: letters.rows.map(({ oldest, ...row }) => ({ ...row, oldestSeconds: oldest })),
	};
}
