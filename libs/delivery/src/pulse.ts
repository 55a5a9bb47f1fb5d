import { monotonic } from '@tidings/model';

/** Something that is done at once in a quiet moment and at most so often under load, so that many share what one would cost. */
export type Pulse = {
	/** There is something to do. `urgent`: enough of it, so do not wait for more. */
	wake(urgent?: boolean): void;
	/** Resolves when nothing is under way and nothing waits. */
	idle(): Promise<void>;
};

/** Makes a pulse. `act` never runs twice at once and must not reject; its runs begin at least `everyMs` apart unless one was woken as urgent. */
export function createPulse(everyMs: number, act: () => Promise<void>): Pulse {
	let running: Promise<void> | null = null;
	let woken = false;
	let hurry: (() => void) | null = null;
	let urgent = false;
	let last = Number.NEGATIVE_INFINITY;

	const pause = (): Promise<void> =>
		new Promise((resolve) => {
			const ms = urgent ? 0 : last + everyMs - monotonic();
			// Even without a pause the event loop turns once, so that what arrives together goes together.
			if (ms <= 0) setImmediate(resolve);
			else {
				const timer = setTimeout(resolve, ms);
				hurry = () => {
					clearTimeout(timer);
					resolve();
				};
			}
		});
	const run = async (): Promise<void> => {
		while (woken) {
			await pause();
			hurry = null;
			woken = false;
			urgent = false;
			last = monotonic();
			await act();
		}
		running = null;
	};
	return {
		wake: (isUrgent = false) => {
			woken = true;
			if (isUrgent) {
				urgent = true;
				hurry?.();
			}
			running ??= run();
		},
		idle: async () => {
			while (running !== null) await running;
		},
	};
}
