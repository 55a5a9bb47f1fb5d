import type { Lane } from '@tidings/model';
import type pg from 'pg';
import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';
import { inTransaction } from '../tx.js';
import { HALTED_TENANTS } from './halted-tenants.js';

/** An outbox entry in the hands of a publisher. */
export type TakenEntry = {
	readonly id: string;
	readonly tenantId: string;
	readonly route: string;
	readonly lane: Lane;
	readonly flowId: string;
	readonly refusals: number;
	/** Seconds from due to taken. */
	readonly lagSeconds: number;
	readonly traceId: string;
	readonly traceparent: string;
	/** The end of this lease, exactly as stored: later moves name it, so that a publisher whose lease was given to another changes nothing. */
	readonly lease: string;
};

/** How many entries of each lane are taken at once, how many of a flow may be published and unclaimed, and how long a publisher may keep them. */
export type TakeOptions = { readonly shares: Readonly<Record<Lane, number>>; readonly window: number; readonly leaseSeconds: number };

type Flow = { id: string; lane: Lane; out_max: number; closed: string | null; half_open: boolean };

/** A flow of a halted tenant is looked at again after this time; whoever lets the tenant go on wakes it at once. */
const HALTED_REST = `interval '1 hour'`;

/** When the gate `g` or the route's own gate `p` lets anything through again; null: now. A half-open gate whose one message is on its way is closed for that one's lease. */
const CLOSED = `greatest(
	case when g.closed_until > now() then g.closed_until end,
	case when g.half_open and g.trial_until > now() then g.trial_until end,
	case when p.closed_until > now() then p.closed_until end)::text`;

/** The flows whose turn it is, each lane by its own index scan; a lane's unused share goes on to the next. `skip locked`: another publisher has that flow. */
const FLOWS = (['urgent', 'normal', 'bulk'] as const)
	.map(
		(lane, n) => `
		(select f.id, f.lane, f.out_max, case
			when f.tenant_id in (${HALTED_TENANTS}) then (now() + ${HALTED_REST})::text
			else ${CLOSED} end as closed, coalesce(g.half_open, false) as half_open
		from flow f left join gate g on g.id = f.gate left join gate p on p.route = f.route
		where f.lane = '${lane}' and f.next_at <= now() order by f.next_at limit $${n + 1} for no key update of f skip locked)`,
	)
	.map((select, n) => `lane${n} as materialized (${select})`)
	.join(', ');

const TAKE = moveEntries('take', { row: 'e', to: 'PUBLISHING', lease: 'now() + make_interval(secs => $6)' });

const ENTRIES = `
	with f as materialized (select * from unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::int[], $5::int[]) as f (id, out_max, closed, k, win)),
	w as materialized (
		select id, closed, cnt, case when closed is null then greatest(0, least(k, win - cnt)) else 0 end as room,
			(select min(held_until) from outbox_entry where flow_id = f.id and held_until > now() and not taken) as until
		from f cross join lateral (
			select case when closed is not null or out_max + k <= win then out_max
				else (select count(*)::int from (select from outbox_entry where flow_id = f.id and taken limit win) as x) end as cnt
		) as b
	),
	t as materialized (
		select w.id as flow, r.id, r.due_at, n <= room and r.due_at <= now() as ok
		from w cross join lateral (
			select id, due_at, row_number() over (order by due_at) as n
			from (select id, due_at from outbox_entry where flow_id = w.id and not taken and (held_until is null or held_until <= now()) order by due_at limit room + 1 for update skip locked) as z
		) as r
		where closed is null
	),
	u as (
		update outbox_entry e set ${TAKE.set}, held_until = null where e.id = any(array(select id from t where ok)) and not e.taken and ${TAKE.guard} returning e.*
	),
	a as materialized (select flow, count(*) filter (where ok)::int as n, min(due_at) filter (where not ok) as nx from t group by 1),
	v as (
		update flow set
			out_max = w.cnt + coalesce(n, 0),
			held = case when room = 0 and closed is null then least(held + 1, 5) else 0 end,
			next_at = case
				when closed is not null then closed
				when nx is null or nx > now() then least(nx, w.until)
				when room = 0 then clock_timestamp() + interval '10 ms' * power(2, held)
				else clock_timestamp() end
		from w left join a on a.flow = w.id where flow.id = w.id
	)
	select id, tenant_id, route, lane, flow_id, refusals, extract(epoch from now() - due_at)::float8 as lag, trace_id, traceparent, lease_until::text as lease from u order by due_at, id`;

type Row = {
	id: string;
	tenant_id: string;
	route: string;
	lane: Lane;
	flow_id: string;
	refusals: number;
	lag: number;
	trace_id: string;
	traceparent: string;
	lease: string;
};

/**
 * Takes due entries, the longest due first, fair over tenants, gates and lanes: a turn for each flow of the ring, at most `window` of a flow published and unclaimed, nothing behind a closed gate or of a paused route, one at a time behind a half-open one, and nothing of a halted tenant.
 * Crosses tenants by nature. Two statements in one transaction: the second's snapshot is younger than the flow locks, so a flow is never read half. Relies on flow_next, outbox_entry_waiting and outbox_entry_out.
 */
export async function takeEntries(pool: pg.Pool, options: TakeOptions): Promise<TakenEntry[]> {
	return await inTransaction(pool, async (client) => {
		const flows = await nextFlows(client, options);
		if (flows.length === 0) return [];
		const counts = { urgent: 0, normal: 0, bulk: 0 };
		for (const flow of flows) counts[flow.lane] += 1;
		// Behind a half-open gate one message is enough to see.
		const windowOf = (flow: Flow): number => (flow.half_open ? 1 : options.window);
		const turn = (flow: Flow): number =>
			Math.min(windowOf(flow), Math.max(1, Math.ceil(shares(options, counts)[flow.lane] / counts[flow.lane])));
		const { rows } = await client.query<Row>({
			name: 'take-entries',
			text: ENTRIES,
			values: [
				flows.map((flow) => flow.id),
				flows.map((flow) => flow.out_max),
				flows.map((flow) => flow.closed),
				flows.map(turn),
				flows.map(windowOf),
				options.leaseSeconds,
			],
		});
		return rows.map((row) => ({
			id: row.id,
			tenantId: row.tenant_id,
			route: row.route,
			lane: row.lane,
			flowId: row.flow_id,
			refusals: row.refusals,
			lagSeconds: Math.max(0, row.lag),
			traceId: row.trace_id,
			traceparent: row.traceparent,
			lease: row.lease,
		}));
	});
}

async function nextFlows(client: Queryable, options: TakeOptions): Promise<Flow[]> {
	const { rows } = await client.query<Flow>({
		name: 'next-flows',
		text: `with ${FLOWS} select * from lane0 union all select * from lane1 union all select * from lane2`,
		values: [options.shares.urgent, options.shares.normal, options.shares.bulk],
	});
	return rows;
}

/** A lane without any flow gives its share to the next one that has some. */
function shares(options: TakeOptions, counts: Readonly<Record<Lane, number>>): Record<Lane, number> {
	const result = { ...options.shares };
	let spare = 0;
	for (const lane of ['urgent', 'normal', 'bulk'] as const) {
		if (counts[lane] === 0) spare += options.shares[lane];
		else {
			result[lane] += spare;
			spare = 0;
		}
	}
	return result;
}
