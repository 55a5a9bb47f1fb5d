/** What one process knows about the doors it sends through, besides what the tables say. */
export type GateMemory = {
	/** Failures to reach a config in a row, and when the newest was, of the monotonic clock. */
	readonly strikes: Map<string, { readonly count: number; readonly at: number }>;
	/** Configs that it closed because nothing came back: a success opens them. */
	readonly hung: Set<string>;
	/** When it wrote down a config's newest error last. */
	readonly notedAt: Map<string, number>;
};

/** Makes an empty memory. */
export function newGateMemory(): GateMemory {
	return { strikes: new Map(), hung: new Set(), notedAt: new Map() };
}
