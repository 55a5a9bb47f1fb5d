import type { Queryable } from '../client.js';
import type { GateError, GateReason } from '../gating.js';

/** A gate as people see it. */
export type GateRow = {
	/** HALF_OPEN: one message at a time goes through until one has shown that the provider works. */
	readonly state: 'OPEN' | 'HALF_OPEN' | 'CLOSED';
	readonly reason: GateReason | null;
	readonly detail: string | null;
	/** Null: open, or closed without an end of its own. */
	readonly closedUntil: Date | null;
	readonly probeAt: Date | null;
	/** Since when it stands so: one whose time is over, since then. */
	readonly since: Date;
	readonly lastError: GateError | null;
};

const GATE = `
	case when closed then 'CLOSED' when half_open then 'HALF_OPEN' else 'OPEN' end as state, case when closed then reason end as reason, case when closed then detail end as detail,
	case when closed and isfinite(closed_until) then closed_until end as "closedUntil", case when closed then probe_at end as "probeAt",
	case when closed_until <= now() then closed_until else changed_at end as since, last_error as "lastError"
	from (select *, coalesce(closed_until > now(), false) as closed from gate) as g`;

/** The gates of these provider configs of a tenant, by config. Relies on the primary key. */
export async function findGates(client: Queryable, tenantId: string, ids: readonly string[]): Promise<Map<string, GateRow>> {
	const { rows } = await client.query<GateRow & { id: string }>({
		name: 'find-gates',
		text: `select id, ${GATE} where tenant_id = $1::uuid and id = any($2::uuid[])`,
		values: [tenantId, ids],
	});
	return new Map(rows.map(({ id, ...gate }) => [id, gate]));
}

/** The gates of routes that were ever paused, by route. */
export async function findRouteGates(client: Queryable): Promise<Map<string, GateRow>> {
	const { rows } = await client.query<GateRow & { route: string }>({
		name: 'find-route-gates',
		text: `select route, ${GATE} where route is not null`,
		values: [],
	});
	return new Map(rows.map(({ route, ...gate }) => [route, gate]));
}

/** More than this is not counted. */
export const WAITING_MOST = 10_000;

/** How many messages wait behind a gate, counted up to `WAITING_MOST`; of one tenant, or of all (null). Flow by flow, by flow_gate and outbox_entry_waiting. */
export async function countWaiting(client: Queryable, gate: string, tenantId: string | null): Promise<number> {
	const { rows } = await client.query<{ n: number }>({
		name: 'count-waiting',
		text: `
			select count(*)::int as n from (
				select from flow f cross join lateral (select from outbox_entry e where e.flow_id = f.id and not e.taken limit ${WAITING_MOST}) as w
				where f.gate = $1::uuid and ($2::uuid is null or f.tenant_id = $2::uuid) limit ${WAITING_MOST}
			) as n`,
		values: [gate, tenantId],
	});
	return rows[0]?.n ?? 0;
}
