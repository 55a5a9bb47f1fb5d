/** How many act at once, and how many more may wait for their turn. */
export type TurnLimits = { readonly atOnce: number; readonly waiting: number };

/** Runs an act when its turn comes; null when too many wait already, and then the act is not begun. */
export type TakeTurn = <T>(act: () => Promise<T>) => Promise<T> | null;

/** Makes a line for acts that are long, so that together they take no more than their share of what all need, such as connections to the database. First come, first served. */
export function createTurns({ atOnce, waiting }: TurnLimits): TakeTurn {
	let running = 0;
	const line: (() => void)[] = [];
	const begin = async (): Promise<void> => {
		if (running < atOnce) running += 1;
		// Whoever ends hands over its place.
		else await new Promise<void>((resolve) => void line.push(resolve));
	};
	const end = (): void => {
		const next = line.shift();
		if (next === undefined) running -= 1;
		else next();
	};
	return (act) => (running >= atOnce && line.length >= waiting ? null : begin().then(act).finally(end));
}
