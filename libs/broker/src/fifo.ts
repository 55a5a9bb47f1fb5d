/** A first-in, first-out queue whose two ends cost the same however long it is. */
export type Fifo<T> = { push(item: T): void; shift(): T | undefined; size(): number };

/** Below this many free places in front, moving the rest would cost more than the room is worth. */
const COMPACT_FROM = 1_024;

/** Makes an empty queue. */
export function makeFifo<T extends object>(): Fifo<T> {
	let items: (T | undefined)[] = [];
	let head = 0;
	return {
		push(item) {
			items.push(item);
		},
		shift() {
			if (head === items.length) return undefined;
			const item = items[head];
			items[head] = undefined; // a taken item must not be kept in memory by its old place
			head++;
			if (head === items.length) {
				items = [];
				head = 0;
			} else if (head >= COMPACT_FROM && head * 2 >= items.length) {
				items = items.slice(head);
				head = 0;
			}
			return item;
		},
		size: () => items.length - head,
	};
}
