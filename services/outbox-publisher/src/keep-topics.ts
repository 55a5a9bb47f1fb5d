import type { Broker } from '@tidings/broker';
import { type Db, wakeFlows } from '@tidings/db';
import { deadLettersOf, monotonic, ROUTES, topicsOf } from '@tidings/model';
import { createPoll, type Part } from '@tidings/runtime';
import type { Logger } from '@tidings/telemetry';

/** Sees to it that there is something to publish to, and that flows which could not be published wait no longer than that takes. */
export type TopicKeeper = Part & {
	/** Whether the topics were tried once: before that, a missing one says nothing. */
	tried(): boolean;
	/** Rises whenever there is new reason to try: the broker is back, or topics were made. */
	turn(): number;
	/** A topic is missing. Right after the topics were made that is left to time. */
	missing(): void;
	/** These flows were put off because of the broker, by a publish that began at `turn`: they are woken with the next turn, at once when it has come already. */
	rest(flowIds: readonly string[], turn: number): void;
};

/** What keeping topics needs. `onTurn`: told when there is something to try. */
export type TopicKeeperOptions = { readonly broker: Broker; readonly db: Db; readonly log: Logger; readonly onTurn: () => void };

const BACKOFF = { first: 100, most: 2_000 };
const HOUR_MS = 3_600_000;
/** A topic that is missing although it was made so shortly ago is no reason to hurry. */
const MADE_MS = 5_000;
/** Flows of one waking statement at most. */
const PAGE = 1_000;

/** With their subscriptions, so that nothing is confirmed and then gone. */
const PLACES = ROUTES.flatMap(({ route }) => [...topicsOf(route), ...deadLettersOf(route)]);

/** Makes the topics of all routes, at the start, whenever the broker is back, and when one is missing. A broker that is away fails no start: it is tried again until it works. */
export function keepTopics({ broker, db, log, onTurn }: TopicKeeperOptions): TopicKeeper {
	const resting = new Set<string>();
	let [wanted, tried, turn, madeAt] = [true, false, 0, Number.NEGATIVE_INFINITY];
	const make = async (): Promise<void> => {
		await broker.ensureTopics(PLACES);
		wanted = false;
		madeAt = monotonic();
		turn += 1;
	};
	const poll = createPoll({
		name: 'topics',
		intervalMs: HOUR_MS,
		log,
		backoff: BACKOFF,
		act: async () => {
			try {
				if (wanted) await make();
				await wake(db, resting);
			} finally {
				tried = true;
				onTurn();
			}
		},
	});
	const look = (): void => {
		wanted = true;
		poll.wake();
	};
	broker.on('back', look);
	return {
		...poll,
		tried: () => tried,
		turn: () => turn,
		missing: () => {
			if (monotonic() - madeAt > MADE_MS) look();
		},
		rest: (flowIds, since) => {
			for (const id of flowIds) resting.add(id);
			if (since !== turn) poll.wake();
			// Whoever publishes may have looked for the next turn before these were put off.
			else onTurn();
		},
	};
}

async function wake(db: Db, resting: Set<string>): Promise<void> {
	while (resting.size > 0) {
		const page = [...resting].slice(0, PAGE);
		await wakeFlows(
			db.pool,
			page.map((flowId) => ({ flowId, dueAt: null })),
		);
		for (const id of page) resting.delete(id);
	}
}
