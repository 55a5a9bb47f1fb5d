import { type Queryable, type ReplayedLetter, type ReplayOrder, replayLetters, troubleOf } from '@tidings/db';

/** A letter at which something went wrong. */
export type ReplayFault = { readonly letterId: string; readonly error: Error };

/**
 * Replays letters together; when that fails for itself, each by itself, so that only the letter that is at fault is left out. All in the caller's transaction, which stays
 * usable: where a replay stands is moved by whoever tried, never by somebody who only heard of it. Throws when the database cannot be used now, or wants the transaction run again.
 */
export async function replayApart(
	client: Queryable,
	order: ReplayOrder,
): Promise<{ readonly letters: readonly ReplayedLetter[]; readonly faults: readonly ReplayFault[] }> {
	const together = await attempt(client, order);
	if (!(together instanceof Error)) return { letters: together, faults: [] };
	const letters: ReplayedLetter[] = [];
	const faults: ReplayFault[] = [];
	for (const letterId of order.letterIds) {
		const one = await attempt(client, { ...order, letterIds: [letterId] });
		if (one instanceof Error) faults.push({ letterId, error: one });
		else letters.push(...one);
	}
	return { letters, faults };
}

async function attempt(client: Queryable, order: ReplayOrder): Promise<ReplayedLetter[] | Error> {
	await client.query('savepoint letters');
	try {
		const letters = await replayLetters(client, order);
		await client.query('release savepoint letters');
		return letters;
	} catch (error) {
		if (['away', 'retryable'].includes(troubleOf(error)) || !(error instanceof Error)) throw error;
		await client.query('rollback to savepoint letters');
		return error;
	}
}
