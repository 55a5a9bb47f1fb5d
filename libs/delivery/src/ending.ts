import { setMaxListeners } from 'node:events';

/** The two moments before a stopping process ends, both signals aborted in turn. */
export type Ending = {
	/** What is not handed over is given back from now on. */
	readonly cut: AbortSignal;
	/** No answer is waited for any more: what is left of the time is for settling and closing. */
	readonly last: AbortSignal;
	/** So many milliseconds are left from now. Answers how to call it off. */
	begin(leftMs: number): () => void;
};

/** Before the end, but never more than a half and a quarter of the time. */
const CUT_MS = 5_000;
const LAST_MS = 2_500;

/** Makes an ending that has not begun. */
export function createEnding(): Ending {
	const [cut, last] = [new AbortController(), new AbortController()];
	// One listener for each mail under way: there is no most.
	setMaxListeners(0, cut.signal, last.signal);
	return {
		cut: cut.signal,
		last: last.signal,
		begin: (leftMs) => {
			const timers = [
				setTimeout(() => cut.abort(), leftMs - Math.min(CUT_MS, leftMs / 2)),
				setTimeout(() => last.abort(), leftMs - Math.min(LAST_MS, leftMs / 4)),
			];
			return () => timers.forEach(clearTimeout);
		},
	};
}
