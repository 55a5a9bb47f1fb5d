import type { Queryable } from '../client.js';
import type { GateChange, GateReason } from '../gating.js';
import { IS_CLOSED } from './hand-back.js';

/** A full window that closed the gate meanwhile says nothing about the provider, and stays. */
const FULL = `(${IS_CLOSED} and g.reason = 'RATE')`;

/**
 * Opens gates wide, for a message has shown that their provider works: those of `ids` that are half open, and those of `hung` that were closed because nothing came back.
 * Answers which it opened, with the reason for which they had been closed last; their flows are to be woken after the commit.
 */
export async function openGates(
	pool: Queryable,
	{ ids, hung }: { readonly ids: readonly string[]; readonly hung: readonly string[] },
): Promise<GateChange[]> {
	const { rows } = await pool.query<{ id: string; reason: GateReason | null }>({
		name: 'open-gates',
		text: `
			with shut as materialized (
				select g.id, g.reason from gate g
				where (g.id = any($1::uuid[]) and g.half_open and (not ${IS_CLOSED} or g.reason = 'RATE')) or (g.id = any($2::uuid[]) and g.reason = 'UNREACHABLE')
				order by g.id for no key update
			),
			opened as (
				update gate g set closed_until = case when ${FULL} then g.closed_until end, reason = case when ${FULL} then g.reason end, detail = case when ${FULL} then g.detail end, half_open = false, trial_until = null, probe_at = null, failures = 0,
					version = g.version + 1, changed_at = now()
				where g.id = any(array(select id from shut))
			)
			select id, reason from shut`,
		values: [ids, hung],
	});
	return rows.map((row) => ({ configId: row.id, reason: row.reason }));
}

/** Ends trials that showed nothing, such as one that was given back: the next message may go. The flows are to be woken. */
export async function endTrials(pool: Queryable, ids: readonly string[]): Promise<void> {
	await pool.query({
		name: 'end-trials',
		text: 'update gate set trial_until = null where id = any($1::uuid[]) and half_open and trial_until is not null',
		values: [ids],
	});
}
