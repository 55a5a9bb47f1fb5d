import { LANES, type Lane, monotonic } from '@tidings/model';

/** A message that waits for a free slot of its provider config. */
export type Waiting = {
	readonly recordId: string;
	readonly tenantId: string;
	readonly configId: string;
	readonly configVersion: number;
	readonly lane: Lane;
};

/** Which line: a config that was changed has a new one, so that what hangs at its old host keeps nothing waiting. */
export type LineName = Pick<Waiting, 'configId' | 'configVersion'>;

/**
 * Waiting messages, a line for each provider config with its own slots: a config whose server hangs takes no slot from another.
 * Within a line urgent goes before normal before bulk, and the tenants of a lane take turns.
 */
export type Lines<Message extends Waiting> = {
	/** Puts a message at the end of its line. */
	add(message: Message): void;
	/** Takes messages for which a slot is free, at most `limit`, a turn for each line, beginning behind those that were served last; each takes its slot until `release`. */
	take(limit: number): Message[];
	/** The provider has the message of a slot now: from here on it is the provider that lets us wait. */
	depart(line: LineName): void;
	/** Gives a slot back whose message never departed. */
	release(line: LineName): void;
	/** Gives a slot back whose message departed. True: half of this line's slots are free while messages wait for them. */
	land(line: LineName): boolean;
	/**
	 * A provider takes no more at once than it has now: the line keeps one slot less than are in use, at least one. False: there was only this one, so that it is not their number.
	 */
	narrow(line: LineName): boolean;
	/** Something got through: a line that was narrowed gets one slot back, at most every so many milliseconds, default 5,000. */
	widen(line: LineName, everyMs?: number): void;
	/** Takes what waits for one config, without slots. */
	drain(configId: string): Message[];
	/** Takes everything that waits, without slots: what a stopping consumer lets go. */
	clear(): Message[];
	/** The lines in which something waits while the provider has had all the slots for so long. Each is told again only after as long again. */
	stuck(ms: number): LineName[];
	readonly waiting: number;
	readonly busy: number;
};

/** A provider that takes fewer at once than we would send is asked so often whether it takes one more. */
const WIDEN_MS = 5_000;

/** Who waits in one lane, by tenant; the first is the one whose turn it is. */
type Turns<Message> = Map<string, Message[]>;
type Line<Message> = LineName & {
	slots: number;
	slotsAt: number;
	busy: number;
	departed: number;
	movedAt: number;
	waiting: Record<Lane, Turns<Message>>;
};

/** Makes lines with `slots` slots each. */
export function createLines<Message extends Waiting>(slots: number): Lines<Message> {
	const lines = new Map<string, Line<Message>>();
	let waiting = 0;
	let busy = 0;
	const find = (name: LineName): Line<Message> | undefined => lines.get(keyOf(name));
	const open = ({ configId, configVersion }: LineName): Line<Message> => {
		const fresh = {
			...{ configId, configVersion, slots, slotsAt: 0, busy: 0, departed: 0, movedAt: monotonic() },
			waiting: { urgent: new Map(), normal: new Map(), bulk: new Map() },
		};
		lines.set(keyOf(fresh), fresh);
		return fresh;
	};
	const move = (name: LineName, by: 1 | -1): void => {
		const line = find(name);
		if (line === undefined) return;
		line.departed += by;
		line.movedAt = monotonic();
	};
	const free = (name: LineName): boolean => {
		const line = find(name);
		if (line === undefined) return false;
		line.busy -= 1;
		busy -= 1;
		if (line.busy * 2 <= line.slots && hasWaiting(line)) return true;
		// One that was narrowed is remembered, as long as it is used.
		if (line.busy === 0 && !hasWaiting(line)) lines.delete(keyOf(line));
		return false;
	};
	const empty = (line: Line<Message>): Message[] => {
		const all = LANES.flatMap((lane) => [...line.waiting[lane].values()].flat());
		for (const lane of LANES) line.waiting[lane].clear();
		waiting -= all.length;
		return all;
	};

	return {
		add: (message) => {
			const turns = (find(message) ?? open(message)).waiting[message.lane];
			const messages = turns.get(message.tenantId);
			if (messages === undefined) turns.set(message.tenantId, [message]);
			else messages.push(message);
			waiting += 1;
		},
		take: (limit) => {
			const taken: Message[] = [];
			let able = [...lines.values()].filter((line) => line.busy < line.slots);
			while (able.length > 0 && taken.length < limit) {
				able = able.filter((line) => {
					const message = taken.length < limit && line.busy < line.slots ? nextOf(line) : undefined;
					if (message === undefined) return false;
					line.busy += 1;
					taken.push(message);
					return true;
				});
			}
			for (const name of new Set(taken.map(keyOf))) {
				const line = lines.get(name);
				lines.delete(name);
				if (line !== undefined) lines.set(name, line);
			}
			waiting -= taken.length;
			busy += taken.length;
			return taken;
		},
		depart: (name) => move(name, 1),
		release: (name) => {
			free(name);
		},
		land: (name) => {
			move(name, -1);
			return free(name);
		},
		narrow: (name) => {
			const line = find(name);
			if (line === undefined || line.departed < 2) return false;
			line.slots = Math.min(line.slots, line.departed - 1);
			line.slotsAt = monotonic();
			return true;
		},
		widen: (name, everyMs = WIDEN_MS) => {
			const line = find(name);
			if (line === undefined || line.slots >= slots || monotonic() - line.slotsAt < everyMs) return;
			line.slots += 1;
			line.slotsAt = monotonic();
		},
		drain: (configId) => [...lines.values()].filter((line) => line.configId === configId).flatMap(empty),
		clear: () => [...lines.values()].flatMap(empty),
		stuck: (ms) => {
			const found = [...lines.values()].filter(
				(line) => line.departed >= line.slots && hasWaiting(line) && monotonic() - line.movedAt >= ms,
			);
			for (const line of found) line.movedAt = monotonic();
			return found.map(({ configId, configVersion }) => ({ configId, configVersion }));
		},
		get waiting() {
			return waiting;
		},
		get busy() {
			return busy;
		},
	};
}

function keyOf({ configId, configVersion }: LineName): string {
	return `${configId} ${configVersion}`;
}

function hasWaiting<Message>(line: Line<Message>): boolean {
	return LANES.some((lane) => line.waiting[lane].size > 0);
}

/** Takes the message whose turn it is. */
function nextOf<Message>(line: Line<Message>): Message | undefined {
	const turns = LANES.map((lane) => line.waiting[lane]).find((one) => one.size > 0);
	const [first] = turns ?? [];
	if (turns === undefined || first === undefined) return undefined;
	const [tenantId, messages] = first;
	const message = messages.shift();
	turns.delete(tenantId);
	if (messages.length > 0) turns.set(tenantId, messages);
	return message;
}
