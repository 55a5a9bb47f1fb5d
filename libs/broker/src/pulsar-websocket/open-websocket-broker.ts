import { newId } from '@tidings/model';
import type { Broker, OutgoingMessage, PublishResult, SubscribeOptions, Subscription } from '../broker.js';
import { refusalOf } from '../check-message.js';
import { deadLetterCopy } from '../dead-letter-copy.js';
import type { BrokerOptions } from '../open-broker.js';
import { Presence } from '../pulsar/presence.js';
import { reportTo } from '../pulsar/report.js';
import { createAdmin } from '../pulsar-admin.js';
import { fullTopicName } from '../pulsar-names.js';
import { dial } from './dial.js';
import { socketUrls } from './socket-urls.js';
import { TopicProducer } from './topic-producer.js';
import { WebSocketSubscription } from './websocket-subscription.js';

/** Where the broker is, and how long is waited for it. */
export type WebSocketOptions = BrokerOptions & {
	/** How long a connection may take to stand, and a message to be answered, in milliseconds; default 10,000. */
	readonly sendTimeoutMs?: number;
	/** How often a connection that is silent must show that it still answers, in milliseconds; default 20,000. */
	readonly pingMs?: number;
	/** How long a consumer may get nothing before it is looked whether the broker still sees it, in milliseconds; default 5,000. */
	readonly checkMs?: number;
};

const SEND_TIMEOUT_MS = 10_000;
const CHECK_MS = 5_000;
const CLOSED = 'the broker is closed';

/**
 * The drivers `ws://` and `wss://`: Pulsar's WebSocket API, one connection for each topic that is published to and each subscription; topics and backlogs by the admin API.
 * It waits for nothing: `connected()` tells when the broker has answered. Throws when the URL or the namespace cannot be one.
 */
export function openWebSocketBroker(options: WebSocketOptions): Broker {
	const { namespace, token, log, sendTimeoutMs = SEND_TIMEOUT_MS, pingMs, checkMs = CHECK_MS } = options;
	const urls = socketUrls(options.url, namespace);
	const admin = createAdmin({ url: options.adminUrl ?? urls.admin, namespace, token });
	const report = reportTo(log);
	const producers = new Map<string, TopicProducer>();
	const subscriptions = new Set<WebSocketSubscription>();
	let closing: Promise<void> | undefined;

	const anyConnected = (): boolean => [...producers.values(), ...subscriptions].some((one) => one.connected());
	const look = (): 'up' | 'none' => (anyConnected() ? 'up' : 'none');
	const presence = new Presence({ probe: admin.check, look, report });
	presence.on('back', () => {
		for (const subscription of subscriptions) subscription.wake();
	});

	const ways = { token, timeoutMs: sendTimeoutMs, ...(pingMs === undefined ? {} : { pingMs }) };

	function makeProducer(topic: string): TopicProducer {
		const url = urls.producer(topic, sendTimeoutMs);
		return new TopicProducer({
			dial: (handlers, signal) => dial({ url, ...ways, signal }, handlers),
			sendTimeoutMs,
			lost: (reason) => presence.lost(reason),
		});
	}

	async function publishOne(message: OutgoingMessage): Promise<PublishResult> {
		if (closing !== undefined) return { kind: 'away', reason: CLOSED };
		const refusal = refusalOf(message);
		if (refusal !== null) return refusal;
		const away = presence.away();
		if (away !== undefined) return { kind: 'away', reason: away };
		const { topic } = message;
		const producer = producers.get(topic) ?? makeProducer(topic);
		producers.set(topic, producer);
		const result = await producer.publish(message);
		if (result.kind === 'no-topic' && producer.idle()) producers.delete(topic);
		return result;
	}

	function makeSubscription(subscribing: SubscribeOptions): WebSocketSubscription {
		const { topic, subscription } = subscribing;
		const name = `${subscription}-${newId()}`;
		const url = urls.consumer(subscribing, name);
		const around = {
			dial: (handlers, signal) => dial({ url, ...ways, signal }, handlers),
			async bury(message) {
				const copy = deadLetterCopy({ ...message, topic }, subscription, fullTopicName(namespace, topic));
				return copy !== null && (await publishOne(copy)).kind === 'confirmed';
			},
			ensure: () => admin.ensureTopics([{ topic, subscription }]),
			seen: async () => (await admin.consumers(topic, subscription))?.includes(name) === true,
			away: () => presence.away(),
			lost: (reason) => presence.lost(reason),
			report,
			checkMs,
		} satisfies ConstructorParameters<typeof WebSocketSubscription>[0];
		return new WebSocketSubscription(around, subscribing);
	}

	async function subscribe(subscribing: SubscribeOptions): Promise<Subscription> {
		if (closing !== undefined) throw new Error(CLOSED);
		if (!Number.isInteger(subscribing.slots) || subscribing.slots < 1)
			throw new RangeError(`slots must be an integer from 1, not ${subscribing.slots}`);
		const subscription = makeSubscription(subscribing);
		subscriptions.add(subscription);
		try {
			await subscription.start();
		} catch (error) {
			subscriptions.delete(subscription);
			throw error;
		}
		return {
			pause: () => subscription.pause(),
			resume: () => subscription.resume(),
			close() {
				subscriptions.delete(subscription);
				return subscription.close();
			},
		};
	}

	async function close(): Promise<void> {
		presence.close();
		admin.close();
		await Promise.all([...subscriptions, ...producers.values()].map((one) => one.close()));
	}

	return {
		publish: (messages) => Promise.all(messages.map(publishOne)),
		subscribe,
		backlog: (topic, subscription) => admin.backlog(topic, subscription),
		async ensureTopics(places) {
			await admin.ensureTopics(places);
			if (!presence.connected()) await presence.check();
		},
		connected: () => presence.connected(),
		on: (event, listener) => presence.on(event, listener),
		close() {
			closing ??= close();
			return closing;
		},
	};
}
