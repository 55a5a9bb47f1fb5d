import type { Db } from '@tidings/db';
import type { Caller } from '@tidings/runtime';
import { createAnswerMask } from './message-shape.js';

/** What shows a text to a caller; null for those who may read it as it is. */
export type TextMask = ((text: string | null) => string | null) | null;

/**
 * Makes what masks texts about messages (what a provider said, what a person noted) for a caller who may not read content: each with the addresses of its own message.
 * Of an id that is no message of the tenant, or null, every address is masked all the same.
 */
export async function createRecordMasks(
	{ prisma }: Pick<Db, 'prisma'>,
	caller: Caller,
	ids: readonly (string | null)[],
): Promise<(id: string | null) => TextMask> {
	if (caller.capabilities.has('content:read')) return () => null;
	const known = [...new Set(ids.flatMap((id) => id?.toLowerCase() ?? []))];
	const where = { tenantId: caller.tenant.id, id: { in: known } };
	const recipients = known.length === 0 ? [] : await prisma.sendRecipient.findMany({ where, select: { id: true, address: true } });
	const addresses = new Map<string, string[]>(known.map((id) => [id, []]));
	for (const { id, address } of recipients) addresses.get(id)?.push(address);
	return (id) => createAnswerMask(addresses.get(id?.toLowerCase() ?? '') ?? []);
}
