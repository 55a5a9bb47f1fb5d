import type { Queryable } from '../client.js';

/** What a flow is one of: a tenant's messages of one lane through one gate. */
export type FlowKey = { readonly tenantId: string; readonly gate: string; readonly lane: string; readonly route: string };

/** Makes the flows that are missing and returns the id of each, in order. A flow's id never changes, so callers may remember it. */
export async function ensureFlows(pool: Queryable, keys: readonly FlowKey[]): Promise<string[]> {
	const values = [keys.map((one) => one.tenantId), keys.map((one) => one.gate), keys.map((one) => one.lane), keys.map((one) => one.route)];
	// Sorted, so that two callers that make the same flows do not lock them in opposite order.
	await pool.query(
		`insert into flow (tenant_id, gate, lane, route)
		select distinct * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) order by 1, 2, 3, 4
		on conflict do nothing`,
		values,
	);
	const { rows } = await pool.query<{ id: string }>(
		`select f.id from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) with ordinality as k (tenant_id, gate, lane, route, n)
		join flow f using (tenant_id, gate, lane, route) order by k.n`,
		values,
	);
	return rows.map((row) => row.id);
}
