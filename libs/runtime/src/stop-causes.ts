import { constants } from 'node:os';
import { monotonic } from '@tidings/model';

/** Why a process has to stop: somebody asks, or something happened that nobody handled. */
export type StopCause = { readonly kind: 'signal'; readonly signal: NodeJS.Signals } | { readonly kind: 'error'; readonly error: unknown };

/** A terminal sends SIGINT to the whole group and npm passes it on: a twin within this time is the same key press. */
const ECHO_MS = 100;

/**
 * Calls `stop` once, with the first cause: SIGTERM, SIGINT, SIGHUP, an exception or a rejection that nobody handled.
 * A second signal exits at once (128 + its number); a second error goes to `alsoFailed`, and the stop goes on.
 */
export function onStopCause(stop: (cause: StopCause) => void, alsoFailed: (error: unknown) => void): void {
	let firstAt: number | null = null;
	for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
		process.on(signal, () => {
			if (firstAt === null) {
				firstAt = monotonic();
				stop({ kind: 'signal', signal });
			} else if (signal !== 'SIGINT' || monotonic() - firstAt > ECHO_MS) {
				process.exit(128 + constants.signals[signal]);
			}
		});
	}
	const onError = (error: unknown): void => {
		if (firstAt !== null) {
			alsoFailed(error);
			return;
		}
		firstAt = monotonic();
		stop({ kind: 'error', error });
	};
	process.on('uncaughtException', onError);
	process.on('unhandledRejection', onError);
}
