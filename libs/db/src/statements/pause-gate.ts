import type { Queryable } from '../client.js';

/** Pauses the gate of a tenant's provider config, until a person resumes it, in the caller's transaction; one that is missing is made. False: it is paused already. */
export async function pauseGate(client: Queryable, gate: { id: string; tenantId: string }, note: string | null): Promise<boolean> {
	const { rows } = await client.query({
		name: 'pause-gate',
		text: `
			insert into gate (id, tenant_id, kind, closed_until, reason, detail) values ($1::uuid, $2::uuid, 'CONFIG', 'infinity', 'PAUSED', $3::text)
			on conflict (id) do update
			set closed_until = 'infinity', reason = 'PAUSED', detail = excluded.detail, probe_at = null, trial_until = null, version = gate.version + 1, changed_at = now()
			where gate.tenant_id = excluded.tenant_id and gate.reason is distinct from 'PAUSED' returning id`,
		values: [gate.id, gate.tenantId, note],
	});
	return rows.length > 0;
}

/**
 * Opens the gate of a tenant's provider config whatever closed it, in the caller's transaction: half, when its provider has not worked since it failed. False: it is not closed.
 * Its flows are to be woken after the commit.
 */
export async function resumeGate(client: Queryable, gate: { id: string; tenantId: string }): Promise<boolean> {
	const { rows } = await client.query({
		name: 'resume-gate',
		text: `
			update gate set closed_until = null, reason = null, detail = null, probe_at = null, trial_until = null, half_open = half_open or failures > 0,
				version = version + 1, changed_at = now()
			where id = $1::uuid and tenant_id = $2::uuid and closed_until > now() returning id`,
		values: [gate.id, gate.tenantId],
	});
	return rows.length > 0;
}

/** Opens half what a failure of its provider has closed, so that one message shows how it is now. False: it is not closed, or not for that. Its flows are to be woken. */
export async function tryGate(client: Queryable, gate: { id: string; tenantId: string }): Promise<boolean> {
	const { rows } = await client.query({
		name: 'try-gate',
		text: `
			update gate set closed_until = null, reason = null, detail = null, probe_at = null, trial_until = null, half_open = true, version = version + 1, changed_at = now()
			where id = $1::uuid and tenant_id = $2::uuid and closed_until > now() and reason not in ('PAUSED', 'RATE') returning id`,
		values: [gate.id, gate.tenantId],
	});
	return rows.length > 0;
}

/** Pauses a route for all, in the caller's transaction; its gate is made when it is paused for the first time. False: it is paused already. `platformId`: whose it is. */
export async function pauseRoute(
	client: Queryable,
	{ route, platformId }: { route: string; platformId: string },
	note: string | null,
): Promise<boolean> {
	const { rows } = await client.query({
		name: 'pause-route',
		text: `
			insert into gate (id, tenant_id, kind, route, closed_until, reason, detail) values (uuid_v7(), $2::uuid, 'ROUTE', $1, 'infinity', 'PAUSED', $3::text)
			on conflict (route) where route is not null do update
			set closed_until = 'infinity', reason = 'PAUSED', detail = excluded.detail, version = gate.version + 1, changed_at = now()
			where gate.reason is distinct from 'PAUSED' returning id`,
		values: [route, platformId, note],
	});
	return rows.length > 0;
}

/** Lets a route go on, in the caller's transaction. False: it is not paused. Its flows are to be woken after the commit. */
export async function resumeRoute(client: Queryable, route: string): Promise<boolean> {
	const { rows } = await client.query({
		name: 'resume-route',
		text: `
			update gate set closed_until = null, reason = null, detail = null, version = version + 1, changed_at = now()
			where route = $1 and closed_until is not null returning id`,
		values: [route],
	});
	return rows.length > 0;
}
