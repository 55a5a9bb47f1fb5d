import type { Queryable } from '../client.js';
import { moveLetters } from '../transition.js';

const MOVE = moveLetters('resolve', { row: 'l', to: 'RESOLVED' });

/** Resolves the open letter of a record, if it has one, in the caller's transaction: the record leaves DEAD_LETTER, HELD or EXPIRED by this road. */
export async function resolveLetter(
	client: Queryable,
	tenantId: string,
	recordId: string,
	closing: { resolution: string; actor: string; note: string | null },
): Promise<void> {
	await client.query({
		name: 'resolve-letter',
		text: `update dead_letter_message l set ${MOVE.set}, resolution = $3, actor = $4, note = $5 where l.record_id = $1 and l.tenant_id = $2 and ${MOVE.guard}`,
		values: [recordId, tenantId, closing.resolution, closing.actor, closing.note],
	});
}
