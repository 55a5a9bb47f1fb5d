import { createPulse } from './pulse.js';

/** Gathers items and handles them together: one statement for many, and no wait for one in a quiet moment. */
export type Batch<Item> = {
	add(item: Item): void;
	/** Resolves when everything added so far was handled. */
	drained(): Promise<void>;
};

/** What a batch does. `handle` must not reject: it decides itself what a failure means. `mostMs`: see `createPulse`; a full batch never waits. */
export type BatchOptions<Item> = {
	readonly limit: number;
	readonly mostMs: number;
	readonly handle: (items: readonly Item[]) => Promise<void>;
};

/** Makes a batch. */
export function createBatch<Item>({ limit, mostMs, handle }: BatchOptions<Item>): Batch<Item> {
	let gathered: Item[] = [];
	const pulse = createPulse(mostMs, async () => {
		const items = gathered.length <= limit ? gathered : gathered.slice(0, limit);
		gathered = gathered.slice(items.length);
		if (gathered.length > 0) pulse.wake(gathered.length >= limit);
		if (items.length > 0) await handle(items);
		return items.length;
	});
	return {
		add: (item) => {
			gathered.push(item);
			pulse.wake(gathered.length >= limit);
		},
		drained: pulse.idle,
	};
}
