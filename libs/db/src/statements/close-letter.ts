import type { Queryable } from '../client.js';
import { moveLetters } from '../transition.js';

const MOVES = {
	resolve: moveLetters('resolve', { row: 'l', to: 'RESOLVED' }),
	discard: moveLetters('discard', { row: 'l', to: 'DISCARDED' }),
};

/**
 * Closes an open letter of a tenant, in the caller's transaction; its message stays as it is. False when there is no such letter that is open:
 * the row's lock decides between two who close it at once.
 */
export async function closeLetter(
	client: Queryable,
	tenantId: string,
	id: string,
	closing: { act: 'resolve' | 'discard'; actor: string; note: string | null },
): Promise<boolean> {
	const move = MOVES[closing.act];
	const { rows } = await client.query({
		name: `close-letter-${closing.act}`,
		text: `
			update dead_letter_message l set ${move.set}, resolution = $5, actor = $3, note = $4
			where l.id = $1::uuid and l.tenant_id = $2::uuid and ${move.guard}
			returning l.id`,
		values: [id, tenantId, closing.actor, closing.note, closing.act === 'resolve' ? 'resolved' : 'discarded'],
	});
	return rows.length > 0;
}
