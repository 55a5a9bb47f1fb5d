/** One legal move of a state machine: which act may take a thing from one state to another. */
export type Move<Status extends string, Act extends string> = {
	readonly act: Act;
	readonly from: Status;
	readonly to: Status;
};

/** A state machine as a table of moves. The table is the only place where a move becomes legal. */
export type Machine<Status extends string, Act extends string> = {
	readonly name: string;
	readonly states: readonly Status[];
	readonly moves: readonly Move<Status, Act>[];
};

/** The moves that one act may make, in table order. */
export function movesOf<Status extends string, Act extends string>(machine: Machine<Status, Act>, act: Act): readonly Move<Status, Act>[] {
	return machine.moves.filter((move) => move.act === act);
}

/** The states from which an act may start, each once, in table order. */
export function sourcesOf<Status extends string, Act extends string>(machine: Machine<Status, Act>, act: Act): readonly Status[] {
	return [...new Set(movesOf(machine, act).map((move) => move.from))];
}

/** Whether an act may take a thing from `from` to `to`. */
export function isLegal<Status extends string, Act extends string>(
	machine: Machine<Status, Act>,
	act: Act,
	from: Status,
	to: Status,
): boolean {
	return machine.moves.some((move) => move.act === act && move.from === from && move.to === to);
}
