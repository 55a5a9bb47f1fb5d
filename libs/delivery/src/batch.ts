/** Gathers items while a batch is under way and then handles them together: one statement for many, and no wait for one. */
export type Batch<Item> = {
	add(item: Item): void;
	/** Resolves when everything added so far was handled. */
	drained(): Promise<void>;
};

/** What a batch does. `handle` must not reject: it decides itself what a failure means. */
export type BatchOptions<Item> = { readonly limit: number; readonly handle: (items: readonly Item[]) => Promise<void> };

/** Makes a batch. The first items of a quiet moment go at once, with all that was added in the same turn of the event loop. */
export function createBatch<Item>({ limit, handle }: BatchOptions<Item>): Batch<Item> {
	let gathered: Item[] = [];
	let running: Promise<void> | null = null;
	const run = async (): Promise<void> => {
		await new Promise<void>((resolve) => setImmediate(resolve));
		while (gathered.length > 0) {
			const items = gathered.length <= limit ? gathered : gathered.slice(0, limit);
			gathered = gathered.slice(items.length);
			await handle(items);
		}
		running = null;
	};
	return {
		add: (item) => {
			gathered.push(item);
			running ??= run();
		},
		drained: async () => {
			while (running !== null) await running;
		},
	};
}
