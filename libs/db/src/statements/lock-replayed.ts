import type { Queryable } from '../client.js';

/**
 * Locks the states of the messages that these letters are about, in id order, as claims and settles do. A statement of its own, before the one that replays: that one's snapshot
 * is then younger than the locks, so it sees what became of the messages it waited for.
 */
export async function lockReplayed(client: Queryable, tenantId: string, letterIds: readonly string[]): Promise<void> {
	await client.query({
		name: 'lock-replayed',
		text: `
			select from send_state s
			where s.id = any(array(select record_id from dead_letter_message where id = any($2::uuid[]) and tenant_id = $1::uuid)) and s.tenant_id = $1::uuid
			order by s.id for update`,
		values: [tenantId, letterIds],
	});
}
