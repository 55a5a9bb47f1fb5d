import type { Queryable } from '../client.js';
import { HALTED_TENANTS } from './halted-tenants.js';

/** What the gauges show: open records, outbox entries and how late the oldest due one is, and how long due records wait for a sender. */
export type OutboxMeasures = {
	readonly records: readonly { channel: string; status: string; count: number }[];
	readonly entries: readonly { route: string; status: string; count: number; oldestDueSeconds: number }[];
	readonly queues: readonly { route: string; lane: string; oldestSeconds: number }[];
};

type Row = {
	readonly route: string;
	readonly lane: string | null;
	readonly status: string | null;
	readonly count: number;
	readonly oldest: number | null;
};

const IS_HALTED = 'tenant_id in (select id from halted)';

/** What is measured of the entries that `which` names. They are few beside those that wait, so their rows are read. */
const rowsOf = (which: string): string => `
	select route, lane, status, count(*), min(due_at) filter (where not (${IS_HALTED})) from outbox_entry where ${which} group by 1, 2, 3`;

/** What waits is counted flow by flow in outbox_entry_waiting alone, for its rows are many times as much to read; what that index lacks the flow knows. All of it once by status, and once by lane. */
const ENTRIES = `
	with halted as materialized (${HALTED_TENANTS}),
	shut as materialized (select id, route from gate where closed_until > now()),
	waiting as (select flow_id, count(*) as count, min(due_at) as due_at from outbox_entry where not taken group by 1),
	entries as (
		select f.route, f.lane, 'NEW' as status, sum(count) as count,
			min(due_at) filter (where not (${IS_HALTED}) and f.gate not in (select id from shut) and f.route not in (select route from shut where route is not null)
				and f.id not in (select flow_id from outbox_entry where held_until > now())) as due_at
		from waiting join flow f on f.id = waiting.flow_id group by 1, 2
		union all ${rowsOf('taken')}
		union all ${rowsOf('taken is null')}
	)
	select route, lane, status, sum(count)::int as count, extract(epoch from now() - min(due_at) filter (where due_at <= now()))::float8 as oldest
	from entries group by grouping sets ((route, status), (route, lane))`;

/**
 * Counts over all tenants, for metrics without a tenant label. What a halted tenant, a closed gate, a paused route or a window that has too little room keeps waiting on purpose is counted, but makes nothing late. Each reads only what is open, once: by a
 * partial index, or the outbox.
 */
export async function measureOutbox(pool: Queryable): Promise<OutboxMeasures> {
	const [records, entries] = await Promise.all([
		pool.query<{ channel: string; status: string; count: number }>({
			name: 'measure-records',
			text: `
				select 'MAIL' as channel, status, count(*)::int as count from send_state where status in ('PENDING', 'RETRY') group by 2
				union all select 'MAIL', status, count(*)::int from send_state where status = 'SENDING' group by 2
				-- A held record has an open letter, and no index of its own to be counted by.
				union all select 'MAIL', 'HELD', count(*)::int from dead_letter_message where status = 'PENDING' and source = 'AMBIGUOUS'`,
			values: [],
		}),
		pool.query<Row>({ name: 'measure-entries', text: ENTRIES, values: [] }),
	]);
	return {
		records: records.rows,
		entries: entries.rows.flatMap(({ route, status, count, oldest }) =>
			status === null ? [] : [{ route, status, count, oldestDueSeconds: oldest ?? 0 }],
		),
		// An entry goes when its record is claimed, so the oldest due one of any status tells how long records wait.
		queues: entries.rows.flatMap(({ route, lane, oldest }) =>
			lane === null || oldest === null ? [] : [{ route, lane, oldestSeconds: oldest }],
		),
	};
}
