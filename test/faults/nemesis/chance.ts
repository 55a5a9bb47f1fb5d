/** Chance that can be repeated: everything that is drawn follows from the seed. */
export type Chance = {
	/** A whole number from `least` to `most`. */
	between(least: number, most: number): number;
	/** One of these. */
	pick<T>(among: readonly T[]): T;
	/** Whether something with this probability happens. */
	happens(probability: number): boolean;
};

/** Makes chance from a seed (mulberry32). */
export function createChance(seed: number): Chance {
	let state = seed >>> 0;
	const next = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
	return {
		between,
		pick: (among) => {
			const one = among[between(0, among.length - 1)];
			if (one === undefined) throw new Error('there is nothing to pick from');
			return one;
		},
		happens: (probability) => next() < probability,
	};
}
