/** Gathers what arrives while a flush runs into the next one. */
export type GroupFlush<T> = {
	/** Resolves when a flush has taken the item in, rejects with what that flush failed with. */
	add(item: T): Promise<void>;
	/** Resolves when nothing is left to flush. */
	idle(): Promise<void>;
};

/** Makes flushes share their cost: one runs at a time, and each takes all that waits. */
export function groupFlush<T>(flush: (items: readonly T[]) => Promise<void>): GroupFlush<T> {
	let waiting: { item: T; done(): void; failed(error: unknown): void }[] = [];
	let running: Promise<void> | undefined;

	async function run(): Promise<void> {
		while (waiting.length > 0) {
			const taken = waiting;
			waiting = [];
			try {
				await flush(taken.map(({ item }) => item));
				for (const one of taken) one.done();
			} catch (error) {
				for (const one of taken) one.failed(error);
			}
		}
		running = undefined;
	}

	return {
		add: (item) =>
			new Promise((done, failed) => {
				waiting.push({ item, done, failed });
				running ??= run();
			}),
		idle: async () => running,
	};
}
