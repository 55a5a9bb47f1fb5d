import type { Queryable } from '../client.js';
import { type DueProbe, detailOf, type GateError, type GateReason, type ProbePace } from '../gating.js';
import { nextProbe } from './close-gates.js';

/** Takes gates whose probe is due; nobody else gets them within the lease, and a prober that dies leaves them due after it. Relies on gate_probe. Crosses tenants by nature. */
export async function takeDueProbes(
	pool: Queryable,
	{ limit, leaseSeconds }: { readonly limit: number; readonly leaseSeconds: number },
): Promise<DueProbe[]> {
	const { rows } = await pool.query<{ id: string; tenant_id: string; reason: GateReason; version: number }>({
		name: 'take-due-probes',
		text: `
			update gate g set probe_at = now() + make_interval(secs => $2)
			where g.id = any(array(select id from gate where probe_at <= now() order by probe_at limit $1 for no key update skip locked)) and g.probe_at <= now()
			returning g.id, g.tenant_id, g.reason, g.version`,
		values: [limit, leaseSeconds],
	});
	return rows.map((row) => ({ configId: row.id, tenantId: row.tenant_id, reason: row.reason, version: row.version }));
}

/** How a probe ended: `error` null when the provider let us in. */
export type ProbeEnd = { readonly probe: DueProbe; readonly error: GateError | null };

/**
 * Writes down how a probe ended: the gate opens half, and its flows are to be woken; or the next probe waits longer. False when somebody moved the gate meanwhile:
 * a pause, a changed config.
 */
export async function endProbe(pool: Queryable, { probe, error }: ProbeEnd, { probeSeconds }: ProbePace): Promise<boolean> {
	const { rowCount } = await pool.query(
		error === null
			? {
					name: 'probe-opened',
					text: `
						update gate set closed_until = null, reason = null, detail = null, half_open = true, trial_until = null, probe_at = null, version = version + 1, changed_at = now()
						where id = $1 and version = $2 and probe_at is not null`,
					values: [probe.configId, probe.version],
				}
			: {
					name: 'probe-failed',
					text: `
						update gate g set probe_at = ${nextProbe('$3::float8')}, failures = g.failures + 1, detail = left($4, 1000), last_error = $5
						where g.id = $1 and g.version = $2 and g.probe_at is not null`,
					values: [probe.configId, probe.version, probeSeconds, detailOf(error), JSON.stringify(error)],
				},
	);
	return rowCount === 1;
}
