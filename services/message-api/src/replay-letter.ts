import { type Db, inTransaction, type ReplayedLetter, replayLetters } from '@tidings/db';
import type { Actor } from './audit.js';
import { holdSendingTenant } from './hold-sending-tenant.js';
import { wakeNow } from './wake-now.js';

/**
 * Replays one dead letter, with its audit in one transaction, and wakes the publishers after the commit. Answers what became of it, with the reason when it was refused; null when there is no such letter.
 * Done twice it acts once: the second finds it closed. Throws a `Problem`: 403 when the tenant is being deleted, 404 when it is erased.
 */
export async function replayLetter(
	db: Db,
	who: Actor,
	{ tenantId, id, note }: { readonly tenantId: string; readonly id: string; readonly note: string | null },
): Promise<ReplayedLetter | null> {
	const [letter] = await inTransaction(db.pool, async (client) => {
		await holdSendingTenant(client, tenantId);
		return await replayLetters(client, { tenantId, letterIds: [id], ...who, note, replayId: null });
	});
	if (letter === undefined) return null;
	if (letter.flowId !== null) await wakeNow(db, [letter.flowId]);
	return letter;
}
