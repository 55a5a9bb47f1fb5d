/** Pauses that can be cut short. One at a time. */
export type Rest = {
	/** Resolves after `ms` milliseconds, or at `wake`. */
	take(ms: number): Promise<void>;
	/** Ends the pause that is taken now; there may be none. */
	wake(): void;
};

/** Makes one. */
export function makeRest(): Rest {
	let end: (() => void) | undefined;
	return {
		async take(ms) {
			let timer: NodeJS.Timeout | undefined;
			await new Promise<void>((resolve) => {
				timer = setTimeout(resolve, ms);
				end = resolve;
			});
			clearTimeout(timer);
			end = undefined;
		},
		wake: () => end?.(),
	};
}
