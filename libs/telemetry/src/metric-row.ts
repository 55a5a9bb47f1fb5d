/** One metric: everything that is ever said about it. */
export type MetricRow = {
	readonly name: `tidings_${string}`;
	readonly type: 'counter' | 'gauge' | 'histogram';
	/** What one unit of the value is. */
	readonly unit: string;
	readonly help: string;
	/** Each label with the values it can take; null: any (kept few by whoever sets it). */
	readonly labels: Readonly<Record<string, readonly string[] | null>>;
	/** Upper bounds of a histogram, in its unit. */
	readonly buckets?: readonly number[];
	/** Label sets that exist from the start with 0. Default: every combination when all values are known. Empty: a series begins when it is first set. */
	readonly starts?: readonly Readonly<Record<string, string>>[];
	/** Absent until it is first measured: most services do not, and a 0 there would be a lie. */
	readonly measured?: true;
};
