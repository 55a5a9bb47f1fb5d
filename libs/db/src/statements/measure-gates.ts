import type { Queryable } from '../client.js';
import type { GateReason } from '../gating.js';

/** How many provider configs stand how. */
export type GateMeasure = { readonly state: 'open' | 'half_open' | 'closed'; readonly reason: GateReason | 'none'; readonly count: number };

/** The routes that are paused. */
export async function findPausedRoutes(pool: Queryable): Promise<string[]> {
	const { rows } = await pool.query<{ route: string }>({
		name: 'find-paused-routes',
		text: 'select route from gate where route is not null and closed_until > now()',
		values: [],
	});
	return rows.map((row) => row.route);
}

/** Counts gates over all tenants, for a metric without a tenant label. */
export async function measureGates(pool: Queryable): Promise<GateMeasure[]> {
	const { rows } = await pool.query<GateMeasure>({
		name: 'measure-gates',
		text: `
			select state, case when state = 'closed' then reason else 'none' end as reason, count(*)::int as count
			from (select reason, case when closed_until > now() then 'closed' when half_open then 'half_open' else 'open' end as state from gate where kind = 'CONFIG') as g
			group by 1, 2`,
		values: [],
	});
	return rows;
}
