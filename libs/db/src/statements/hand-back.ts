import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

/** Whether the gate `g` is closed now. A time that has passed opens it. */
export const IS_CLOSED = 'coalesce(g.closed_until > now(), false)';

const published = moveEntries('hand-back', { row: 'e', to: 'NEW' });

/** Hands back the entries of the records in `barred`, which are locked. To be embedded. `heldUntil`: until when they may not be published again (SQL); default: at once. */
export const handBackSql = (heldUntil = 'null'): string => `
	update outbox_entry e set ${published.set}, held_until = ${heldUntil}
	where e.id = any(array(select id from barred)) and ${published.guard} returning e.id, e.flow_id`;

/** A message to be handed back. */
export type HandBackKey = {
	readonly recordId: string;
	readonly tenantId: string;
	/** When it may be published again, unless its config is no longer of this version; null: as before. */
	readonly pause: { readonly seconds: number; readonly configId: string; readonly configVersion: number } | null;
};

/** A record whose message was handed back, and the flow to wake after the commit. */
export type HandedBack = { readonly id: string; readonly flowId: string };

/**
 * Hands messages back that a sender holds and may not send now: their outbox entries wait again in their old place, perhaps held for a while, and each counts one wait; the records stay as they are.
 * What is claimed, finished or another tenant's meanwhile is left out. Rows are locked in id order, as claims lock them.
 */
export async function handBack(pool: Queryable, keys: readonly HandBackKey[]): Promise<HandedBack[]> {
	const { rows } = await pool.query<{ id: string; flow_id: string | bigint }>({
		name: 'hand-back',
		text: `
			-- Locked, so that whoever changes a config at this moment finds what waits by its old limits.
			with config as materialized (select id, version from mail_send_server_config where id = any($4::uuid[]) order by id for share),
			barred as materialized (
				select s.id, case when m.config_version = (select version from config where id = m.config_id) then now() + make_interval(secs => m.seconds) end as held_until
				from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::uuid[], $5::int[]) as m (id, tenant_id, seconds, config_id, config_version) join send_state s using (id, tenant_id)
				where s.status || '' in ('PENDING', 'RETRY') order by s.id for update of s
			),
			back as (${handBackSql('(select b.held_until from barred b where b.id = e.id limit 1)')}),
			waited as (update send_state s set waits = s.waits + 1 where s.id = any(array(select id from back)))
			select id, flow_id from back`,
		values: [
			keys.map((key) => key.recordId),
			keys.map((key) => key.tenantId),
			keys.map((key) => key.pause?.seconds ?? null),
			keys.map((key) => key.pause?.configId ?? null),
			keys.map((key) => key.pause?.configVersion ?? null),
		],
	});
	return rows.map((row) => ({ id: row.id, flowId: String(row.flow_id) }));
}
