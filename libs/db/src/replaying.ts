import type { ReplayRefusal, ReplayStatus } from '@tidings/model';
import type { LetterFilter } from './letter-conditions.js';

/** Which letters a replay is about: those of a filter that are open, or these, each id once. */
export type ReplaySelection =
	| { readonly kind: 'filter'; readonly filter: LetterFilter }
	| { readonly kind: 'ids'; readonly ids: readonly string[] };

/** How many letters were not replayed for which reason. */
export type RefusalCounts = Readonly<Partial<Record<ReplayRefusal, number>>>;

/** A letter that was not replayed. `reason` null: replaying it failed. */
export type UnreplayedLetter = { readonly letterId: string; readonly reason: ReplayRefusal | null };

/** Letters that are kept with a replay as examples, and of each reason, at most. */
export const REPLAY_SAMPLE = 20;
export const SAMPLE_OF_REASON = 5;

/** A replay of many letters and how far it is. */
export type ReplayRow = {
	readonly id: string;
	readonly status: ReplayStatus;
	/** As it was asked for, in JSON; null: by ids. */
	readonly filter: Readonly<Record<string, string>> | null;
	readonly ratePerSecond: number;
	readonly note: string | null;
	readonly actor: string;
	readonly matched: number;
	readonly replayed: number;
	readonly refused: number;
	readonly failed: number;
	readonly refusals: RefusalCounts;
	readonly sample: readonly UnreplayedLetter[];
	readonly error: string | null;
	readonly createdAt: Date;
	readonly finishedAt: Date | null;
};

/** A filter as it is stored: times as RFC 3339. */
export function storedFilter({ createdAfter, createdBefore, ...same }: LetterFilter): Record<string, string> {
	return {
		...same,
		...(createdAfter === undefined ? {} : { createdAfter: createdAfter.toISOString() }),
		...(createdBefore === undefined ? {} : { createdBefore: createdBefore.toISOString() }),
	};
}

/** The filter that was stored. */
export function filterOf({ createdAfter, createdBefore, ...same }: Readonly<Record<string, string>>): LetterFilter {
	return {
		...same,
		...(createdAfter === undefined ? {} : { createdAfter: new Date(createdAfter) }),
		...(createdBefore === undefined ? {} : { createdBefore: new Date(createdBefore) }),
	};
}
