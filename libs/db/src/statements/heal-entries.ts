import type { Queryable } from '../client.js';
import { moveEntries } from '../transition.js';

const HEAL = moveEntries('heal', { row: 'e', to: 'NEW' });

/** An entry that was healed, with the flow to wake. */
export type Healed = { readonly flowId: string; readonly from: 'PUBLISHING' | 'PUBLISHED' };

/**
 * Reopens entries whose lease ran out, at most `limit`: the publisher died (PUBLISHING), or the message was lost on its way (PUBLISHED: `heals` rises and the next patience doubles).
 * Walks outbox_entry_out, which holds only what is out. Crosses tenants by nature.
 */
export async function healEntries(pool: Queryable, limit: number): Promise<Healed[]> {
	const { rows } = await pool.query<{ flow_id: string; was: 'PUBLISHING' | 'PUBLISHED' }>({
		name: 'heal-entries',
		text: `
			with stale as materialized (
				select id, status as was from outbox_entry where taken and lease_until < now() limit $1 for update skip locked
			)
			update outbox_entry e set ${HEAL.set}, heals = e.heals + case when stale.was = 'PUBLISHED' then 1 else 0 end
			from stale where e.id = stale.id and e.id = any(array(select id from stale)) and ${HEAL.guard}
			returning e.flow_id, stale.was`,
		values: [limit],
	});
	return rows.map((row) => ({ flowId: row.flow_id, from: row.was }));
}

/**
 * Reopens everything that is PUBLISHED, at most `limit` at a time, because the broker said that it lost all it held. Heals are not counted: nothing waited in vain.
 * Crosses tenants by nature.
 */
export async function reopenPublished(pool: Queryable, limit: number): Promise<Healed[]> {
	const { rows } = await pool.query<{ flow_id: string }>({
		name: 'reopen-published',
		text: `
			update outbox_entry e set ${HEAL.set}
			where e.id = any(array(select id from outbox_entry where taken and status = 'PUBLISHED' limit $1 for update skip locked)) and ${HEAL.guard}
			returning e.flow_id`,
		values: [limit],
	});
	return rows.map((row) => ({ flowId: row.flow_id, from: 'PUBLISHED' }));
}
