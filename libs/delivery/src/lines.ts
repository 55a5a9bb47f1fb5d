import { LANES, type Lane, monotonic } from '@tidings/model';

/** A message that waits for a free slot of its provider config. */
export type Waiting = { readonly recordId: string; readonly tenantId: string; readonly configId: string; readonly lane: Lane };

/**
 * Waiting messages, a line for each provider config with its own slots: a config whose server hangs takes no slot from another.
 * Within a line urgent goes before normal before bulk, and the tenants of a lane take turns.
 */
export type Lines<Message extends Waiting> = {
	/** Puts a message at the end of its line. */
	add(message: Message): void;
	/** Takes messages for which a slot is free, at most `limit`, a turn for each line; each takes its slot until `release`. */
	take(limit: number): Message[];
	/** The provider has the message of a slot now: from here on it is the provider that lets us wait. */
	depart(configId: string): void;
	/** Gives a slot back whose message never departed. */
	release(configId: string): void;
	/** Gives a slot back whose message departed. True: half of this line's slots are free while messages wait for them. */
	land(configId: string): boolean;
	/** Takes what waits in the line of one config, without slots. */
	drain(configId: string): Message[];
	/** Takes everything that waits, without slots: what a stopping consumer lets go. */
	clear(): Message[];
	/** The configs in whose lines something waits while the provider has had all the slots for so long. Each is told again only after as long again. */
	stuck(ms: number): string[];
	readonly waiting: number;
	readonly busy: number;
};

/** Who waits in one lane, by tenant; the first is the one whose turn it is. */
type Turns<Message> = Map<string, Message[]>;
type Line<Message> = { busy: number; departed: number; movedAt: number; waiting: Record<Lane, Turns<Message>> };

/** Makes lines with `slots` slots each. */
export function createLines<Message extends Waiting>(slots: number): Lines<Message> {
	const lines = new Map<string, Line<Message>>();
	let waiting = 0;
	let busy = 0;
	const nextOf = (line: Line<Message>): Message | undefined => {
		const turns = LANES.map((lane) => line.waiting[lane]).find((one) => one.size > 0);
		const [first] = turns ?? [];
		if (turns === undefined || first === undefined) return undefined;
		const [tenantId, messages] = first;
		const message = messages.shift();
		turns.delete(tenantId);
		if (messages.length > 0) turns.set(tenantId, messages);
		return message;
	};
	const move = (configId: string, by: 1 | -1): void => {
		const line = lines.get(configId);
		if (line === undefined) return;
		line.departed += by;
		line.movedAt = monotonic();
	};
	const hasWaiting = (line: Line<Message>): boolean => LANES.some((lane) => line.waiting[lane].size > 0);
	const free = (configId: string): boolean => {
		const line = lines.get(configId);
		if (line === undefined) return false;
		line.busy -= 1;
		busy -= 1;
		if (line.busy * 2 <= slots && hasWaiting(line)) return true;
		if (line.busy === 0 && !hasWaiting(line)) lines.delete(configId);
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
			const line = lines.get(message.configId) ?? {
				busy: 0,
				departed: 0,
				movedAt: monotonic(),
				waiting: { urgent: new Map(), normal: new Map(), bulk: new Map() },
			};
			lines.set(message.configId, line);
			const turns = line.waiting[message.lane];
			const messages = turns.get(message.tenantId);
			if (messages === undefined) turns.set(message.tenantId, [message]);
			else messages.push(message);
			waiting += 1;
		},
		take: (limit) => {
			const taken: Message[] = [];
			let open = [...lines.values()].filter((line) => line.busy < slots);
			while (open.length > 0 && taken.length < limit) {
				open = open.filter((line) => {
					const message = taken.length < limit && line.busy < slots ? nextOf(line) : undefined;
					if (message === undefined) return false;
					line.busy += 1;
					taken.push(message);
					return true;
				});
			}
			waiting -= taken.length;
			busy += taken.length;
			return taken;
		},
		depart: (configId) => move(configId, 1),
		release: (configId) => {
			free(configId);
		},
		land: (configId) => {
			move(configId, -1);
			return free(configId);
		},
		drain: (configId) => {
			const line = lines.get(configId);
			return line === undefined ? [] : empty(line);
		},
		clear: () => [...lines.values()].flatMap(empty),
		stuck: (ms) => {
			const found = [...lines].filter(([, line]) => line.departed >= slots && hasWaiting(line) && monotonic() - line.movedAt >= ms);
			for (const [, line] of found) line.movedAt = monotonic();
			return found.map(([configId]) => configId);
		},
		get waiting() {
			return waiting;
		},
		get busy() {
			return busy;
		},
	};
}
