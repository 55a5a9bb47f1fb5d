import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

/** Whether the gate `g` is closed now. A time that has passed opens it. */
export const IS_CLOSED = 'coalesce(g.closed_until > now(), false)';

const published = moveEntries('hand-back', { row: 'e', to: 'NEW' });

/** Hands back the entries of the records in `barred`, which are locked. To be embedded. */
export const HAND_BACK = `
	update outbox_entry e set ${published.set}
	where e.id = any(array(select id from barred)) and ${published.guard} returning e.id, e.flow_id`;

/** A record whose message was handed back, and the flow to wake after the commit. */
export type HandedBack = { readonly id: string; readonly flowId: string };

/**
 * Hands messages back that a sender holds and may not send now: their outbox entries wait again, due as before, and each counts one wait; the records stay as they are.
 * What is claimed, finished or another tenant's meanwhile is left out. Rows are locked in id order, as claims lock them.
 */
export async function handBack(pool: Queryable, keys: readonly { recordId: string; tenantId: string }[]): Promise<HandedBack[]> {
	const { rows } = await pool.query<{ id: string; flow_id: string | bigint }>({
		name: 'hand-back',
		text: `
			with barred as materialized (
				select s.id from unnest($1::uuid[], $2::uuid[]) as m (id, tenant_id) join send_state s using (id, tenant_id)
				where s.status || '' in ('PENDING', 'RETRY') order by s.id for update of s
			),
			back as (${HAND_BACK}),
			waited as (update send_state s set waits = s.waits + 1 where s.id = any(array(select id from back)))
			select id, flow_id from back`,
		values: [keys.map((key) => key.recordId), keys.map((key) => key.tenantId)],
	});
	return rows.map((row) => ({ id: row.id, flowId: String(row.flow_id) }));
}
