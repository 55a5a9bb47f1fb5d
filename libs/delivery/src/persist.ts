import { troubleOf } from '@tidings/db';
import { random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';

/** Runs a statement until the database answers. */
export type Persist = <T>(act: () => Promise<T>) => Promise<T>;

/** Rounds that a stopping process still waits for a database that is away; leases and redelivery give back what it then holds. */
const ROUNDS_WHILE_STOPPING = 5;

/**
 * Makes a `Persist`: it repeats an act while the database is away, with backoff up to five seconds. `onAway` is told when the first act begins to wait and when the last
 * one has ended, so that meanwhile nothing new is taken. Everything else that the act throws is thrown on.
 */
export function createPersist(options: { log: Logger; onAway: (away: boolean) => void; stopping: () => boolean }): Persist {
	let waiting = 0;
	const repeat = async <T>(act: () => Promise<T>, first: unknown): Promise<T> => {
		waiting += 1;
		if (waiting === 1) {
			options.onAway(true);
			options.log.warn({ err: first }, 'the database is away; what is held waits for it');
		}
		try {
			for (let round = 0; ; round += 1) {
				await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, 100 * 2 ** round) * (0.5 + random())));
				try {
					return await act();
				} catch (error) {
					if (!isPassing(error) || (options.stopping() && round >= ROUNDS_WHILE_STOPPING)) throw error;
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
			if (!isPassing(error)) throw error;
			return await repeat(act, error);
		}
	};
}

/** Whether an error says that the database is away or wants the statement again: nothing is wrong with what was asked. */
export function isPassing(error: unknown): boolean {
	const trouble = troubleOf(error);
	return trouble === 'away' || trouble === 'retryable';
}
