import { makeFifo } from '../fifo.js';

/** Lets a limited number of acts run at once; further ones wait in their order. */
export type Window = {
	/** Resolves to true when the act may begin; it then ends with `leave`. False when it may not begin any more: its time ran out, or the window closed. */
	enter(ms: number): Promise<boolean>;
	/** Ends an act that has begun. */
	leave(): void;
	/** Sends away everybody who waits. */
	close(): void;
};

type Waiting = { answer: ((begin: boolean) => void) | undefined; timer: NodeJS.Timeout | undefined };

/** Makes a window for `limit` acts at once. */
export function createWindow(limit: number): Window {
	const queue = makeFifo<Waiting>();
	let inside = 0;
	let closed = false;

	function settle(waiting: Waiting, begin: boolean): boolean {
		if (waiting.answer === undefined) return false;
		clearTimeout(waiting.timer);
		waiting.answer(begin);
		waiting.answer = undefined;
		return true;
	}

	return {
		async enter(ms) {
			if (closed) return false;
			if (inside < limit) {
				inside++;
				return true;
			}
			return await new Promise<boolean>((resolve) => {
				const waiting: Waiting = { answer: resolve, timer: undefined };
				waiting.timer = setTimeout(() => settle(waiting, false), ms);
				queue.push(waiting);
			});
		},
		leave() {
			for (let next = queue.shift(); next !== undefined; next = queue.shift()) if (settle(next, true)) return; // the place passes on
			inside--;
		},
		close() {
			closed = true;
			for (let next = queue.shift(); next !== undefined; next = queue.shift()) settle(next, false);
		},
	};
}
