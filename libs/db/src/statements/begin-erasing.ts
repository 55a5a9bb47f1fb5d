import type { Queryable } from '../client.js';

/**
 * Begins, or goes on with, erasing a tenant in the caller's transaction: marks it, so that nobody can resume it any more, and holds its row until the commit, so that one publisher erases at a time.
 * False: something of it still waits or is being sent, its deletion is younger than `graceSeconds` (a node may not have heard of it yet), or another publisher is at it.
 * What waits is looked for through flow_of and the partial indexes of outbox_entry, what is being sent by send_state_lease, which holds only what is being sent.
 */
export async function beginErasing(client: Queryable, tenantId: string, graceSeconds: number): Promise<boolean> {
	const waits = (which: string): string =>
		`exists (select from flow f join outbox_entry e on e.flow_id = f.id and ${which} where f.tenant_id = $1 and e.tenant_id = $1)`;
	const { rowCount } = await client.query({
		name: 'begin-erasing',
		text: `
			update tenant set erasing_at = coalesce(erasing_at, now())
			where id = (
				select t.id from tenant t
				where t.id = $1 and t.status = 'DELETING' and (t.erasing_at is not null or (
					t.moved_at <= now() - make_interval(secs => $2)
					and not ${waits('not e.taken')} and not ${waits('e.taken')}
					and not exists (select from outbox_entry where tenant_id = $1 and taken is null)
					and not exists (select from send_state where status = 'SENDING' and tenant_id = $1)
				))
				for no key update skip locked
			)`,
		values: [tenantId, graceSeconds],
	});
	return rowCount === 1;
}
