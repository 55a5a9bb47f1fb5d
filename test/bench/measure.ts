/** One ratio: what we do beside the limit that was measured in the same run on the same machine. Rates are per second. */
export type Ratio = {
	/** Its number in the list of what we are measured by. */
	readonly number: number;
	readonly name: string;
	readonly ours: number;
	/** The same with rate windows and a monthly quota that are never reached; must be within 10 % of `ours`. Absent: not measured. */
	readonly limited?: number;
	readonly limit: number;
	readonly limitName: string;
	readonly unit: string;
	/** What this release must reach, and what we want. */
	readonly floor: number;
	readonly goal: number;
	readonly notes: Readonly<Record<string, number | string>>;
};

/** What a stretch of work took: items, wall seconds, and seconds of this process's CPU. */
export type Stretch = { readonly items: number; readonly seconds: number; readonly cpuSeconds: number };

/** Runs `act`, which answers how many items it handled, and measures it. */
export async function stretch(act: () => Promise<number>): Promise<Stretch> {
	const cpu = process.cpuUsage();
	const began = performance.now();
	const items = await act();
	const used = process.cpuUsage(cpu);
	return { items, seconds: (performance.now() - began) / 1000, cpuSeconds: (used.user + used.system) / 1e6 };
}

/** The value below which that share of them lies: 0.5 is the middle one, 0.99 the slowest in a hundred. */
export function quantile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle one. */
export function median(values: readonly number[]): number {
	return quantile(values, 0.5);
}
