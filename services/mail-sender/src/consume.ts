import type { Broker, IncomingMessage, Subscription } from '@tidings/broker';
import type { DeliveryMessage } from '@tidings/delivery';
import { deadLettersOf, type Lane, type Route, topicsOf } from '@tidings/model';
import { createPoll } from '@tidings/runtime';
import { type Logger, type Metrics, messagingAttributes, startSpan } from '@tidings/telemetry';

/** What consuming needs. */
export type ConsumeOptions = {
	readonly broker: Broker;
	readonly route: Route;
	/** Un-acked messages at most, for each lane. */
	readonly inHand: number;
	/** The broker's kind as traces show it. */
	readonly messagingSystem: string;
	readonly onMessage: (message: DeliveryMessage) => void;
	readonly log: Logger;
	readonly metrics: Metrics;
};

/** The consumer of all lanes of a route. */
export type Consumer = {
	/** Begins to consume, and tries until it can: a broker that is away fails no start. */
	start(): Promise<void>;
	/** Takes nothing for a while, or takes again. */
	pause(paused: boolean): void;
	/** Takes nothing any more; what is held can still be acked. */
	quiet(): void;
	/** Un-acked messages go back. */
	close(): Promise<void>;
	/** Rejects until every lane is consumed. */
	health(): Promise<void>;
};

/** How soon an attempt follows one that failed. What has begun is left alone: its driver connects it again. */
const BACKOFF = { first: 100, most: 2_000 };
const HOUR_MS = 3_600_000;

/** Makes a consumer. The topics, and those for what the broker gives up on, are made before anything is taken from them. */
export function createConsumer(options: ConsumeOptions): Consumer {
	const { broker, route, log, metrics } = options;
	const places = topicsOf(route);
	const lanes = new Map<Lane, Subscription>();
	let [paused, quiet, ensured] = [false, false, false];

	const subscribe = async ({ topic, subscription, lane }: (typeof places)[number]): Promise<void> => {
		const begun = await broker.subscribe({
			topic,
			subscription,
			slots: options.inHand,
			onMessage: (message) => options.onMessage(receive(message, { lane, topic, subscription, system: options.messagingSystem })),
		});
		// The stop did not wait for it.
		if (quiet) return await begun.close();
		if (paused) begun.pause();
		lanes.set(lane, begun);
	};
	const poll = createPoll({
		name: 'subscriptions',
		intervalMs: HOUR_MS,
		log,
		backoff: BACKOFF,
		act: async () => {
			const failures: unknown[] = [];
			const keep = (error: unknown): void => void failures.push(error);
			if (!ensured) {
				await broker.ensureTopics([...places, ...deadLettersOf(route)]).then(() => {
					ensured = true;
				}, keep);
			}
			// Also when they could not be made: who may not make topics may consume those that are there.
			await Promise.all(places.filter(({ lane }) => !lanes.has(lane)).map((place) => subscribe(place).catch(keep)));
			// A driver that had not asked its broker yet has now, and tells of a change only.
			metrics.brokerConnected.set(broker.connected() ? 1 : 0);
			if (failures.length > 0) throw failures[0];
		},
	});
	const apply = (): void => {
		for (const subscription of lanes.values()) paused || quiet ? subscription.pause() : subscription.resume();
	};
	broker.on('away', () => metrics.brokerConnected.set(0));
	broker.on('back', () => {
		metrics.brokerConnected.set(1);
		ensured = false;
		poll.wake();
	});
	return {
		start: async () => {
			metrics.brokerConnected.set(broker.connected() ? 1 : 0);
			await poll.start();
		},
		pause: (wanted) => {
			paused = wanted;
			apply();
		},
		quiet: () => {
			quiet = true;
			void poll.quiet?.();
			apply();
		},
		close: async () => {
			await Promise.all([...lanes.values()].map((subscription) => subscription.close()));
		},
		health: async () => {
			const missing = places.filter(({ lane }) => !lanes.has(lane)).map(({ topic }) => topic);
			if (missing.length > 0) throw new Error(`not consuming yet: ${missing.join(', ')}`);
		},
	};
}

/** Begins the step of the message's trace that lasts until it is acked or handed back, under the step that published it. */
function receive(
	{ id: messageId, payload, properties, ack, nack }: IncomingMessage,
	{ lane, ...from }: { lane: Lane; topic: string; subscription: string; system: string },
): DeliveryMessage {
	const { topic } = from;
	const span = startSpan(`process ${topic}`, properties['traceparent'] ?? '', {
		kind: 'consumer',
		attributes: messagingAttributes({ ...from, operation: 'process', messageId }),
	});
	return {
		lane,
		topic,
		messageId,
		payload,
		span,
		ack: () => {
			ack();
			span.end();
		},
		nack: (delayMs) => {
			nack(delayMs);
			span.fail('nacked');
			span.end();
		},
	};
}
