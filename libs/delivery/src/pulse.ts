import { monotonic } from '@tidings/model';

/** Something that is done at once in a quiet moment and at most so often under load, so that many share what one would cost. */
export type Pulse = {
	/** There is something to do. `urgent`: enough of it, so do not wait for more. */
	wake(urgent?: boolean): void;
	/** Resolves when nothing is under way and nothing waits. */
	idle(): Promise<void>;
};

/** A run that handled so little rests so briefly: what comes now and then hardly waits, and under load each statement carries many rows. */
const REST_MS_PER_ITEM = 5;

/**
 * Makes a pulse. `act` never runs twice at once and must not reject; it answers how many items it handled. The next run begins 5 ms for each of them
 * after this one began, but never more than `mostMs`, and at once when it is woken as urgent.
 */
export function createPulse(mostMs: number, act: () => Promise<number>): Pulse {
	let running: Promise<void> | null = null;
	let woken = false;
	let hurry: (() => void) | null = null;
	let urgent = false;
	let next = Number.NEGATIVE_INFINITY;

	const pause = (): Promise<void> =>
		new Promise((resolve) => {
			const ms = urgent ? 0 : next - monotonic();
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
			const began = monotonic();
			next = began + Math.min(mostMs, REST_MS_PER_ITEM * (await act()));
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
