import { troubleOf } from '@tidings/db';
import { random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';

/** Runs an act until what it needs answers. */
export type Persist = <T>(act: () => Promise<T>) => Promise<T>;

/** What a persist needs. */
export type PersistOptions = {
	/** What is away, as the log says it; default `the database`. */
	readonly what?: string;
	/** Whether an error says only that it is away; default: what the database means by that. */
	readonly isAway?: (error: unknown) => boolean;
	/** The longest pause between two tries, in milliseconds, ±50 %; default 5,000. */
	readonly mostMs?: number;
	readonly log: Logger;
	/** Told when the first act begins to wait, and when the last one has ended: meanwhile nothing new is taken. */
	readonly onAway: (away: boolean) => void;
	/** Whether nothing new is taken in any case. */
	readonly stopping: () => boolean;
	/** Aborted when the process cannot wait any longer; leases and redelivery give back what it then holds. */
	readonly last: AbortSignal;
};

/** The longest pause between two tries, in milliseconds; a stopping process has less time for one. */
const MOST_MS = 5_000;
const MOST_STOPPING_MS = 1_000;

/** Makes a `Persist`: it repeats an act while what it needs is away, until it answers or no time is left. Everything else that the act throws is thrown on. */
export function createPersist(options: PersistOptions): Persist {
	const { what = 'the database', isAway = isPassing, mostMs = MOST_MS } = options;
	let waiting = 0;
	const repeat = async <T>(act: () => Promise<T>, first: unknown): Promise<T> => {
		waiting += 1;
		if (waiting === 1) {
			options.onAway(true);
			options.log.warn({ err: first }, `${what} is away; what is held waits for it`);
		}
		try {
			for (let round = 0; ; round += 1) {
				const most = options.stopping() ? Math.min(mostMs, MOST_STOPPING_MS) : mostMs;
				await new Promise((resolve) => setTimeout(resolve, Math.min(most, 100 * 2 ** round) * (0.5 + random())));
				try {
					return await act();
				} catch (error) {
					if (!isAway(error) || options.last.aborted) throw error;
				}
			}
		} finally {
			waiting -= 1;
			if (waiting === 0 && !options.stopping()) options.onAway(false);
		}
	};
	return async (act) => {
		try {
			return await act();
		} catch (error) {
			if (!isAway(error)) throw error;
			return await repeat(act, error);
		}
	};
}

/** Whether an error says that the database is away or wants the statement again: nothing is wrong with what was asked. */
export function isPassing(error: unknown): boolean {
	const trouble = troubleOf(error);
	return trouble === 'away' || trouble === 'retryable';
}
