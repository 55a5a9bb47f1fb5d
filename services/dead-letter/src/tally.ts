import { REPLAY_SAMPLE, type RefusalCounts, SAMPLE_OF_REASON, type UnreplayedLetter } from '@tidings/db';

/** What was not replayed so far: how many for which reason, and some of them as examples. */
export type Tally = { readonly refusals: RefusalCounts; readonly sample: readonly UnreplayedLetter[] };

/** The tally with these letters added; of each reason only the first few are kept as examples. */
export function addToTally({ refusals, sample }: Tally, letters: readonly UnreplayedLetter[]): Tally {
	const counts: Partial<Record<keyof typeof refusals, number>> = { ...refusals };
	const kept = [...sample];
	for (const letter of letters) {
		if (letter.reason !== null) counts[letter.reason] = (counts[letter.reason] ?? 0) + 1;
		const alike = kept.filter(({ reason }) => reason === letter.reason).length;
		if (kept.length < REPLAY_SAMPLE && alike < SAMPLE_OF_REASON) kept.push(letter);
	}
	return { refusals: counts, sample: kept };
}
