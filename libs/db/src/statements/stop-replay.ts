import type { Queryable } from '../client.js';
import { moveReplays } from '../transition.js';

const MOVE = moveReplays('stop', { row: 'p', to: 'STOPPED' });

/** Stops a replay of a tenant that is RUNNING, in the caller's transaction; waits for the letters that are just being replayed. False when there is none that is RUNNING. */
export async function stopReplay(client: Queryable, tenantId: string, id: string): Promise<boolean> {
	const { rows } = await client.query({
		name: 'stop-replay',
		text: `update dead_letter_replay p set ${MOVE.set} where p.id = $1::uuid and p.tenant_id = $2::uuid and ${MOVE.guard} returning p.id`,
		values: [id, tenantId],
	});
	return rows.length > 0;
}
