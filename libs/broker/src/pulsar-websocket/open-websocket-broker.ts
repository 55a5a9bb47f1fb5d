import { newId } from '@tidings/model';
import type { Broker, BrokerEvent, OutgoingMessage, Place, PublishResult, SubscribeOptions, Subscription } from '../broker.js';
import type { BrokerOptions } from '../broker-options.js';
import { refusalOf } from '../check-message.js';
import { deadLetterCopy } from '../dead-letter-copy.js';
import { Presence } from '../presence.js';
import { type Admin, createAdmin } from '../pulsar-admin.js';
import { fullTopicName } from '../pulsar-names.js';
import { type Report, reportTo } from '../report.js';
import { type Dialled, type DialOptions, dial, type LineHandlers } from './dial.js';
import { type SocketUrls, socketUrls } from './socket-urls.js';
import { TopicProducer } from './topic-producer.js';
import { WebSocketSubscription } from './websocket-subscription.js';

/** Where the broker is, and how long is waited for it. */
export type WebSocketOptions = BrokerOptions & {
	/** How long a connection may take to stand, and a message to be answered, in milliseconds; default 10,000. */
	readonly sendTimeoutMs?: number;
	/** How often a connection must show that it still answers, in milliseconds; default 20,000. */
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
	return new WebSocketBroker(options);
}

class WebSocketBroker implements Broker {
	readonly #options: WebSocketOptions;
	readonly #sendTimeoutMs: number;
	readonly #urls: SocketUrls;
	readonly #admin: Admin;
	readonly #report: Report;
	readonly #presence: Presence;
	readonly #producers = new Map<string, TopicProducer>();
	readonly #subscriptions = new Set<WebSocketSubscription>();
	#closing: Promise<void> | undefined;

	constructor(options: WebSocketOptions) {
		const { url, namespace, token, adminUrl, log, sendTimeoutMs = SEND_TIMEOUT_MS } = options;
		this.#options = options;
		this.#sendTimeoutMs = sendTimeoutMs;
		this.#urls = socketUrls(url, namespace);
		this.#admin = createAdmin({ url: adminUrl ?? this.#urls.admin, namespace, token });
		this.#report = reportTo(log);
		const anyStands = (): boolean => [...this.#producers.values(), ...this.#subscriptions].some((one) => one.connected());
		this.#presence = new Presence({ probe: this.#admin.check, look: () => (anyStands() ? 'up' : 'none'), report: this.#report });
		this.#presence.on('back', () => {
			for (const subscription of this.#subscriptions) subscription.wake();
		});
	}

	publish(messages: readonly OutgoingMessage[]): Promise<PublishResult[]> {
		return Promise.all(messages.map((message) => this.#publish(message)));
	}

	async subscribe(options: SubscribeOptions): Promise<Subscription> {
		if (this.#closing !== undefined) throw new Error(CLOSED);
		if (!Number.isInteger(options.slots) || options.slots < 1)
			throw new RangeError(`slots must be an integer from 1, not ${options.slots}`);
		const subscription = this.#makeSubscription(options);
		this.#subscriptions.add(subscription);
		try {
			await subscription.start();
		} catch (error) {
			this.#subscriptions.delete(subscription);
			throw error;
		}
		return {
			pause: () => subscription.pause(),
			resume: () => subscription.resume(),
			close: () => {
				this.#subscriptions.delete(subscription);
				return subscription.close();
			},
		};
	}

	backlog(topic: string, subscription: string): Promise<number> {
		return this.#admin.backlog(topic, subscription);
	}

	async ensureTopics(topics: readonly Place[]): Promise<void> {
		await this.#admin.ensureTopics(topics);
		if (!this.#presence.connected()) await this.#presence.check();
	}

	connected(): boolean {
		return this.#presence.connected();
	}

	on(event: BrokerEvent, listener: () => void): void {
		this.#presence.on(event, listener);
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#presence.close();
		this.#admin.close();
		await Promise.all([...this.#subscriptions, ...this.#producers.values()].map((one) => one.close()));
	}

	async #publish(message: OutgoingMessage): Promise<PublishResult> {
		if (this.#closing !== undefined) return { kind: 'away', reason: CLOSED };
		const refusal = refusalOf(message);
		if (refusal !== null) return refusal;
		const away = this.#presence.away();
		if (away !== undefined) return { kind: 'away', reason: away };
		const producer = this.#producer(message.topic);
		const result = await producer.publish(message);
		if (result.kind === 'no-topic' && producer.idle()) this.#producers.delete(message.topic);
		return result;
	}

	#producer(topic: string): TopicProducer {
		const known = this.#producers.get(topic);
		if (known !== undefined) return known;
		const url = this.#urls.producer(topic, this.#sendTimeoutMs);
		const made = new TopicProducer({
			dial: (handlers, signal) => this.#dial(url, handlers, signal),
			sendTimeoutMs: this.#sendTimeoutMs,
			lost: (reason, askedAt) => this.#presence.lost(reason, askedAt),
		});
		this.#producers.set(topic, made);
		return made;
	}

	#makeSubscription(options: SubscribeOptions): WebSocketSubscription {
		const { topic, subscription } = options;
		const name = `${subscription}-${newId()}`;
		const url = this.#urls.consumer(options, name);
		const realTopic = fullTopicName(this.#options.namespace, topic);
		return new WebSocketSubscription(
			{
				dial: (handlers, signal) => this.#dial(url, handlers, signal),
				bury: async (message) => {
					const copy = deadLetterCopy({ ...message, topic }, subscription, realTopic);
					return copy !== null && (await this.#publish(copy)).kind === 'confirmed';
				},
				ensure: () => this.#admin.ensureTopics([{ topic, subscription }]),
				seen: async () => (await this.#admin.consumers(topic, subscription))?.includes(name) === true,
				away: () => this.#presence.away(),
				lost: (reason, askedAt) => this.#presence.lost(reason, askedAt),
				report: this.#report,
				checkMs: this.#options.checkMs ?? CHECK_MS,
			},
			options,
		);
	}

	#dial(url: string, handlers: LineHandlers, signal: DialOptions['signal']): Promise<Dialled> {
		const { token, pingMs } = this.#options;
		const limits = { timeoutMs: this.#sendTimeoutMs, ...(pingMs === undefined ? {} : { pingMs }) };
		return dial({ url, token, ...limits, signal }, handlers);
	}
}
