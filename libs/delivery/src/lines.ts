import { LANES, type Lane } from '@tidings/model';

/** A message that waits for a free slot of its provider config. */
export type Waiting = { readonly recordId: string; readonly lane: Lane };

/**
 * Waiting messages, a line for each provider config with its own slots: a config whose server hangs takes no slot from another.
 * Within a line urgent goes before normal before bulk.
 */
export type Lines<Message extends Waiting> = {
	/** Puts a message at the end of its line. */
	add(configId: string, message: Message): void;
	/** Takes messages for which a slot is free, at most `limit`, a turn for each line; each takes its slot until `release`. */
	take(limit: number): { configId: string; message: Message }[];
	/** Gives a slot back. True: half of this line's slots are free while messages wait for them. */
	release(configId: string): boolean;
	/** Takes everything that waits, without slots: what a stopping consumer lets go. */
	clear(): Message[];
	readonly waiting: number;
	readonly busy: number;
};

type Line<Message> = { busy: number; waiting: Record<Lane, Message[]> };

/** Makes lines with `slots` slots each. */
export function createLines<Message extends Waiting>(slots: number): Lines<Message> {
	const lines = new Map<string, Line<Message>>();
	let waiting = 0;
	let busy = 0;
	const nextOf = (line: Line<Message>): Message | undefined => {
		for (const lane of LANES) {
			const message = line.waiting[lane].shift();
			if (message !== undefined) return message;
		}
		return undefined;
	};
	const hasWaiting = (line: Line<Message>): boolean => LANES.some((lane) => line.waiting[lane].length > 0);

	return {
		add: (configId, message) => {
			const line = lines.get(configId) ?? { busy: 0, waiting: { urgent: [], normal: [], bulk: [] } };
			lines.set(configId, line);
			line.waiting[message.lane].push(message);
			waiting += 1;
		},
		take: (limit) => {
			const taken: { configId: string; message: Message }[] = [];
			let open = [...lines].filter(([, line]) => line.busy < slots);
			while (open.length > 0 && taken.length < limit) {
				open = open.filter(([configId, line]) => {
					const message = taken.length < limit && line.busy < slots ? nextOf(line) : undefined;
					if (message === undefined) return false;
					line.busy += 1;
					taken.push({ configId, message });
					return true;
				});
			}
			waiting -= taken.length;
			busy += taken.length;
			return taken;
		},
		release: (configId) => {
			const line = lines.get(configId);
			if (line === undefined) return false;
			line.busy -= 1;
			busy -= 1;
			if (line.busy * 2 <= slots && hasWaiting(line)) return true;
			if (line.busy === 0) lines.delete(configId);
			return false;
		},
		clear: () => {
			const all = [...lines.values()].flatMap((line) => LANES.flatMap((lane) => line.waiting[lane].splice(0)));
			waiting = 0;
			return all;
		},
		get waiting() {
			return waiting;
		},
		get busy() {
			return busy;
		},
	};
}
