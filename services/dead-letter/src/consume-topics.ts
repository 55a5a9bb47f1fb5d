import type { Broker, IncomingMessage, Subscription } from '@tidings/broker';
import { type Channel, deadLettersOf, ROUTES } from '@tidings/model';
import { createPoll, type Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';

/** Consumes the dead-letter topics. As a part it starts also when the broker is away, and is well as soon as it consumes them all. */
export type Consumer = Part & {
	/** Takes nothing for a while, or takes again. */
	pause(paused: boolean): void;
};

/** What consuming needs. */
export type ConsumerOptions = {
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly onMessage: (message: IncomingMessage, channel: Channel) => void;
};

/** Un-acked messages of a topic at most: enough for a statement to carry many, and few enough to hold when each has 5 MB. */
const SLOTS = 20;
/** A message that cannot be archived keeps coming: there is no other place for it. */
const FOR_EVER = 1_000_000;
/** How soon an attempt follows one that failed. What has begun is left alone: its driver connects it again. */
const BACKOFF = { first: 100, most: 2_000 };
const HOUR_MS = 3_600_000;

/** The dead-letter topics of every route and lane, and what their routes deliver. */
const PLACES = ROUTES.flatMap(({ route, channel }) =>
	deadLettersOf(route).map(({ topic, subscription }) => ({ place: { topic, subscription }, channel })),
);

/** Makes a consumer of all dead-letter topics; it makes those that do not exist. */
export function createConsumer({ broker, log, metrics, onMessage }: ConsumerOptions): Consumer {
	const begun = new Map<string, Subscription>();
	let [paused, quiet, ensured] = [false, false, false];

	const missing = () => PLACES.filter(({ place }) => !begun.has(place.topic));
	const subscribe = async ({ place, channel }: (typeof PLACES)[number]): Promise<void> => {
		const onOne = (message: IncomingMessage): void => onMessage(message, channel);
		const subscription = await broker.subscribe({ ...place, slots: SLOTS, maxRedeliveries: FOR_EVER, onMessage: onOne });
		// The stop did not wait for it.
		if (quiet) return await subscription.close();
		if (paused) subscription.pause();
		begun.set(place.topic, subscription);
	};
	const subscribeMissing = async (): Promise<void> => {
		const failures: unknown[] = [];
		const keep = (error: unknown): void => void failures.push(error);
		if (!ensured) {
			await broker.ensureTopics(PLACES.map(({ place }) => place)).then(() => {
				ensured = true;
			}, keep);
		}
		// Also when they could not be made: who may not make topics may consume those that are there.
		await Promise.all(missing().map((one) => subscribe(one).catch(keep)));
		if (failures.length > 0) throw failures[0];
	};
	const poll = createPoll({ name: 'dead-letter-topics', intervalMs: HOUR_MS, log, backoff: BACKOFF, act: subscribeMissing });
	const apply = (): void => {
		for (const subscription of begun.values()) paused || quiet ? subscription.pause() : subscription.resume();
	};
	broker.on('away', () => metrics.brokerConnected.set(0));
	broker.on('back', () => {
		metrics.brokerConnected.set(1);
		ensured = false;
		poll.wake();
	});
	return {
		name: poll.name,
		start: async () => {
			metrics.brokerConnected.set(broker.connected() ? 1 : 0);
			await poll.start();
		},
		pause: (wanted) => {
			paused = wanted;
			apply();
		},
		quiet: async () => {
			quiet = true;
			apply();
			await poll.quiet?.();
		},
		stop: async () => {
			// Its run may hang on a broker that is away: nobody waits for that.
			await Promise.all([...begun.values()].map((subscription) => subscription.close()));
		},
		health: async () => {
			const topics = missing().map(({ place }) => place.topic);
			if (topics.length > 0) throw new Error(`not consuming yet: ${topics.join(', ')}`);
		},
	};
}
