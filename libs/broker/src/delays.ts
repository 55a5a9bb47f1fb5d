import { monotonic } from '@tidings/model';

/** Items that wait for their time, with one timer for all of them. */
export type Delays<T> = {
	/** Hands `item` over after `delayMs` milliseconds or a little later, never sooner. */
	add(item: T, delayMs: number): void;
	/** Forgets every item and the timer. */
	close(): void;
};

/** A leftist heap: the earliest time is at the root, and the right spine is never longer than log2 of the size. */
type Node<T> = { readonly at: number; readonly item: T; rank: number; left: Node<T> | undefined; right: Node<T> | undefined };

/** The longest time that a timer takes; a later item is looked at again then. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Makes an empty waiting room; `due` gets each item when its time has come. */
export function makeDelays<T>(due: (item: T) => void): Delays<T> {
	let root: Node<T> | undefined;
	let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined;

	function arm(): void {
		if (timer !== undefined && root !== undefined && timer.at <= root.at) return;
		clearTimeout(timer?.handle);
		timer = undefined;
		if (root === undefined) return;
		const wait = Math.min(LONGEST_TIMER_MS, Math.max(1, Math.ceil(root.at - monotonic())));
		timer = { at: root.at, handle: setTimeout(ring, wait) };
	}

	// A timer may ring a fraction early by our clock; what is not due yet then gets a timer of its own again.
	function ring(): void {
		timer = undefined;
		const time = monotonic();
		while (root !== undefined && root.at <= time) {
			const { item } = root;
			root = merge(root.left, root.right);
			due(item);
		}
		arm();
	}

	return {
		add(item, delayMs) {
			root = merge(root, { at: monotonic() + delayMs, item, rank: 1, left: undefined, right: undefined });
			arm();
		},
		close() {
			root = undefined;
			arm();
		},
	};
}

function merge<T>(one: Node<T> | undefined, other: Node<T> | undefined): Node<T> | undefined {
	if (one === undefined) return other;
	if (other === undefined) return one;
	const [first, second] = other.at < one.at ? [other, one] : [one, other];
	first.right = merge(first.right, second);
	if ((first.left?.rank ?? 0) < (first.right?.rank ?? 0)) [first.left, first.right] = [first.right, first.left];
	first.rank = (first.right?.rank ?? 0) + 1;
	return first;
}
