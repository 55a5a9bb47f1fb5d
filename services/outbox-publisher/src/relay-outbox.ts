import { type TakenEntry, type TakeOptions, takeEntries } from '@tidings/db';
import { LANES, type Lane } from '@tidings/model';
import { type PublishContext, publishEntries } from './publish-entries.js';

/** How much is taken at once, and how many publishes of one lane may be under way. */
export type RelayOptions = TakeOptions & { readonly inFlight: number };

/** Takes what is due and publishes it, the next while the former is with the broker. A lane whose topic is slow stops no other. */
export type Relay = {
	/**
	 * Publishes what is due now, and ends when nothing more is due for a lane that has room, when the broker is away, or when `stopping` is aborted; it does not wait for what
	 * is in flight. Answers whether a lane was left out for lack of room. Rejects with what a publish since the last run has failed with.
	 */
	run(stopping: AbortSignal): Promise<boolean>;
	/** Resolves when nothing is in flight. */
	landed(): Promise<void>;
};

/** How long all lanes wait for one that has no room. */
const PATIENCE_MS = 25;

/** Makes a relay. `onRoom`: told when a lane that was left out has room again, or a publish has failed. */
export function createRelay(context: PublishContext, options: RelayOptions, onRoom: () => void): Relay {
	const flying: Record<Lane, number> = { urgent: 0, normal: 0, bulk: 0 };
	const flights = new Set<Promise<void>>();
	const failures: unknown[] = [];
	let [away, leftOut] = [false, false];

	const fly = (lane: Lane, entries: readonly TakenEntry[]): void => {
		flying[lane] += 1;
		const flight = publishEntries(context, entries)
			.then((reached) => {
				away ||= !reached;
			})
			.catch((error: unknown) => {
				failures.push(error);
			})
			.then(() => {
				flying[lane] -= 1;
				flights.delete(flight);
				if (leftOut || failures.length > 0) onRoom();
			});
		flights.add(flight);
	};
	const isFull = (): boolean => LANES.some((lane) => flying[lane] >= options.inFlight);
	const landing = async (ms: number): Promise<void> => {
		let timer: NodeJS.Timeout | undefined;
		const patience = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, ms);
		});
		await Promise.race([...flights, patience]);
		clearTimeout(timer);
	};
	const takeable = (): TakeOptions['shares'] => {
		const share = (lane: Lane): number => (flying[lane] < options.inFlight ? options.shares[lane] : 0);
		return { urgent: share('urgent'), normal: share('normal'), bulk: share('bulk') };
	};
	return {
		run: async (stopping) => {
			[away, leftOut] = [false, false];
			while (!stopping.aborted && !away && failures.length === 0 && context.broker.connected()) {
				const shares = takeable();
				leftOut = LANES.some((lane) => shares[lane] === 0);
				if (LANES.every((lane) => shares[lane] === 0)) break;
				const taken = await takeEntries(context.db.pool, { ...options, shares });
				if (taken.length === 0) break;
				// A publish is answered when each of its topics has answered, so each lane goes by itself.
				for (const lane of LANES) {
					const entries = taken.filter((entry) => entry.lane === lane);
					if (entries.length > 0) fly(lane, entries);
				}
				// Mostly the room comes at once, and a take for all lanes costs as much as one for the others.
				if (isFull()) await landing(PATIENCE_MS);
			}
			if (failures.length > 0) throw failures.splice(0)[0];
			return leftOut;
		},
		landed: async () => {
			while (flights.size > 0) await Promise.all(flights);
		},
	};
}

/** Publishes everything that is due now, and waits for it. */
export async function relayOutbox(context: PublishContext, options: RelayOptions, stopping: AbortSignal): Promise<void> {
	let onRoom = (): void => undefined;
	const relay = createRelay(context, options, () => onRoom());
	for (;;) {
		const room = new Promise<void>((resolve) => {
			onRoom = resolve;
		});
		if (!(await relay.run(stopping))) break;
		await room;
	}
	await relay.landed();
	// Only to hear of what failed since.
	await relay.run(AbortSignal.abort());
}
