import { troubleOf } from '@tidings/db';
import { random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';

/** Runs a statement until the database answers. */
export type Persist = <T>(act: () => Promise<T>) => Promise<T>;

/** Rounds that a stopping process still waits for a database that is away; leases and redelivery give back what it then holds. */
const ROUNDS_WHILE_STOPPING = 5;

/**
 * Makes a `Persist`: it repeats an act while the database is away, with backoff up to five seconds, and says so through `onAway`, so that meanwhile nothing new is taken.
 * Everything else that the act throws is thrown on.
 */
export function createPersist(options: { log: Logger; onAway: (away: boolean) => void; stopping: () => boolean }): Persist {
	return async (act) => {
		for (let round = 0; ; round += 1) {
			try {
				const result = await act();
				if (round > 0) options.onAway(false);
				return result;
			} catch (error) {
				const trouble = troubleOf(error);
				if ((trouble !== 'away' && trouble !== 'retryable') || (options.stopping() && round > ROUNDS_WHILE_STOPPING)) throw error;
				if (round === 0) {
					options.onAway(true);
					options.log.warn({ err: error }, 'the database is away; what is held waits for it');
				}
				await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, 100 * 2 ** round) * (0.5 + random())));
			}
		}
	};
}
