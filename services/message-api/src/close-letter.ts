import { closeLetter as close, type Db, findLetter, type LetterRow, queryableOf } from '@tidings/db';
import { type Actor, audit } from './audit.js';

/** How a person's act on a letter ended. `conflict`: it is closed already. */
export type LetterResult =
	| { readonly kind: 'done'; readonly letter: LetterRow }
	| { readonly kind: 'not-found' }
	| { readonly kind: 'conflict'; readonly letter: LetterRow };

/** Which letter, what is done with it, and why. */
export type Closing = {
	readonly tenantId: string;
	readonly id: string;
	readonly act: 'resolve' | 'discard';
	readonly note: string | null;
};

/** Closes an open letter by a person's word, with its audit in one transaction: PENDING → RESOLVED or DISCARDED. Its message stays as it is. Done twice it acts once: the second is a conflict. */
export async function closeLetter({ prisma }: Db, who: Actor, { tenantId, id, act, note }: Closing): Promise<LetterResult> {
	return await prisma.$transaction(async (tx): Promise<LetterResult> => {
		const client = queryableOf(tx);
		const isClosed = await close(client, tenantId, id, { act, actor: who.actor, note });
		const letter = await findLetter(client, tenantId, id);
		if (letter === null) return { kind: 'not-found' };
		if (!isClosed) return { kind: 'conflict', letter };
		await audit(tx, who, {
			tenantId,
			action: `dead-letter.${act}`,
			subjectType: 'dead-letter',
			subjectId: id,
			detail: { from: 'PENDING', to: letter.status, messageId: letter.recordId, note },
		});
		return { kind: 'done', letter };
	});
}
