import type { Queryable } from '../client.js';
import type { GateChange, GateReason } from '../gating.js';
import { IS_CLOSED } from './hand-back.js';
import { releaseHeld } from './release-held.js';

/** A full window that closed the gate meanwhile says nothing about the provider, and stays. */
const FULL = `(${IS_CLOSED} and g.reason = 'RATE')`;

/** One message's trial of a half-open gate, named by the end of its lease exactly as stored: who comes late moves no other's. */
export type Trial = { readonly configId: string; readonly until: string };

const TRIALS = `t as materialized (select * from unnest($1::uuid[], $2::timestamptz[]) as t (id, until))`;
const trialValues = (trials: readonly Trial[]) => [trials.map((one) => one.configId), trials.map((one) => one.until)];

/**
 * Opens gates wide, for a message has shown that their provider works: those that are half open with these trials, and those of `hung` that were closed because nothing came back.
 * Answers which it opened, with the reason for which they had been closed last; their flows are to be woken after the commit.
 */
export async function openGates(
	pool: Queryable,
	{ trials, hung }: { readonly trials: readonly Trial[]; readonly hung: readonly string[] },
): Promise<GateChange[]> {
	const { rows } = await pool.query<{ id: string; tenant_id: string; reason: GateReason | null }>({
		name: 'open-gates',
		text: `
			with ${TRIALS},
			shut as materialized (
				select g.id, g.tenant_id, g.reason from gate g
				where ((g.id, g.trial_until) in (select id, until from t) and g.half_open and (not ${IS_CLOSED} or g.reason = 'RATE')) or (g.id = any($3::uuid[]) and g.reason = 'UNREACHABLE')
				order by g.id for no key update
			),
			opened as (
				update gate g set closed_until = case when ${FULL} then g.closed_until end, reason = case when ${FULL} then g.reason end, detail = case when ${FULL} then g.detail end, half_open = false, trial_until = null, probe_at = null, failures = 0,
					version = g.version + 1, changed_at = now()
				where g.id = any(array(select id from shut))
			)
			select id, tenant_id, reason from shut`,
		values: [...trialValues(trials), hung],
	});
	return rows.map((row) => ({ configId: row.id, tenantId: row.tenant_id, reason: row.reason }));
}

/**
 * Opens gates that are closed for a full window, for room in it was given back, and lets go what was too large for its rest. Answers which had been closed, or held something; their flows are to
 * be woken after the commit.
 */
export async function openRoomy(pool: Queryable, ids: readonly string[]): Promise<string[]> {
	const { rows } = await pool.query<{ id: string }>({
		name: 'open-roomy',
		text: `
			with full_ones as materialized (select g.id from gate g where g.id = any($1::uuid[]) and g.reason = 'RATE' and ${IS_CLOSED} order by g.id for no key update)
			update gate set closed_until = null, reason = null, detail = null, version = version + 1, changed_at = now() where id = any(array(select id from full_ones)) returning id`,
		values: [ids],
	});
	const released = await releaseHeld(pool, ids);
	return [...new Set([...rows.map((row) => row.id), ...released])];
}

/** Ends trials that showed nothing, such as one that was given back: the next message may go. The flows are to be woken. */
export async function endTrials(pool: Queryable, trials: readonly Trial[]): Promise<void> {
	await pool.query({
		name: 'end-trials',
		text: `
			with ${TRIALS},
			over as materialized (select g.id from gate g where (g.id, g.trial_until) in (select id, until from t) and g.half_open order by g.id for no key update)
			update gate set trial_until = null where id = any(array(select id from over))`,
		values: trialValues(trials),
	});
}
