import { deadLetterTopicOf } from '@tidings/model';
import { messageIdText } from './pulsar/message-id.js';

/**
 * The largest message that a broker takes, payload and properties together, in bytes: 5 MiB. A larger one is answered `refused`. A Pulsar counts headers of its own, too, and refuses
 * also what only they lift over its limit: a message of exactly 5 MiB.
 */
export const MAX_PAYLOAD_BYTES = 5 * 1024 * 1024;

/** How long a message waits, in milliseconds, before it comes again when `onMessage` threw without having settled it. */
export const THROWN_NACK_MS = 1_000;

/** How often a message may come again, as far as the broker counts, before it is moved to the dead-letter topic of its topic. */
export const MAX_REDELIVERIES = 20;

/** A message to be published. */
export type OutgoingMessage = {
	/** The topic without tenant and namespace (`topicOf` of the model); the driver adds its namespace. */
	readonly topic: string;
	/** The bytes, with the properties at most `MAX_PAYLOAD_BYTES`; the driver has copied or sent them when `publish` resolves. */
	readonly payload: Uint8Array;
	/** Text beside the payload, such as `traceparent`; any Unicode. */
	readonly properties: Readonly<Record<string, string>>;
};

/**
 * What the broker answered to one message.
 * - `confirmed`: stored for every subscription of the topic
 * - `refused`: the broker said no to this message while it works otherwise; the same message will be refused again
 * - `no-topic`: the topic does not exist; `ensureTopics` makes it
 * - `away`: nobody knows; the broker could not be asked or did not answer in time, so publish it again later
 */
export type PublishResult =
	| { readonly kind: 'confirmed' }
	| { readonly kind: 'refused'; readonly reason: string }
	| { readonly kind: 'no-topic' }
	| { readonly kind: 'away'; readonly reason: string };

/** A message that a subscription holds until it is acked or nacked. The first of the two counts; later calls, and calls after `close`, do nothing. */
export type IncomingMessage = {
	/** The broker's id of the message: the same at every delivery, and never given to another message. */
	readonly id: string;
	/** The topic as it was subscribed to, without tenant and namespace. */
	readonly topic: string;
	/** The bytes as they were published. Subscriptions may share them: do not change them. */
	readonly payload: Uint8Array;
	/** The text beside the payload, as it was published. */
	readonly properties: Readonly<Record<string, string>>;
	/** How often this message was nacked, as far as the broker remembers: it begins at 0 anew when the consumer closes. A hint, never a count to decide by. */
	readonly redeliveryCount: number;
	/** The message is done with and never comes again. Frees a slot. */
	ack(): void;
	/** The message comes again, here or at another consumer, after `delayMs` milliseconds or later. Frees a slot. 0 or less means at once. */
	nack(delayMs: number): void;
};

/** A topic and one of its subscriptions. All consumers of a subscription share its messages. */
export type Place = { readonly topic: string; readonly subscription: string };

/** What to consume, and how. */
export type SubscribeOptions = Place & {
	/** How many un-acked messages this consumer holds at most, at any time; an integer from 1. */
	readonly slots: number;
	/**
	 * A message that has been nacked more often than this, as far as the broker counts, is moved to `deadLetterTopicOf(topic)` with its payload and properties;
	 * `originOf` tells there where it came from. An integer from 1; default `MAX_REDELIVERIES`. While that topic does not exist the message keeps coming,
	 * and a message of a dead-letter topic keeps coming in any case.
	 */
	readonly maxRedeliveries?: number;
	/**
	 * Takes one message; it settles it now or later. It should not throw: a message whose handler threw before settling it is nacked with
	 * `THROWN_NACK_MS`, the error is reported, and the other messages go on.
	 */
	onMessage(message: IncomingMessage): void;
};

/** One consumer of a subscription. */
export type Subscription = {
	/** From now on `onMessage` is not called. What is held stays held and can be acked: pause, finish, then close is a clean stop. */
	pause(): void;
	/** Ends a pause. */
	resume(): void;
	/** Takes nothing more; what is un-acked goes back to the topic, for another consumer or a later one. A second call does nothing. */
	close(): Promise<void>;
};

/**
 * What a broker can tell about itself.
 * - `away`: the connection is gone and messages can neither be published nor taken; the driver is connecting again by itself
 * - `back`: the connection is there again
 * - `lost`: the broker has lost every message it held, so all that was published and not acked must be published again
 */
export type BrokerEvent = 'away' | 'back' | 'lost';

/** The port to the broker. It carries ids; the tables are the truth, so whatever it loses or doubles is healed from there. Delivery is at least once. */
export type Broker = {
	/** Publishes many messages, pipelined. One answer each, in the order of the messages. Never rejects. */
	publish(messages: readonly OutgoingMessage[]): Promise<PublishResult[]>;
	/**
	 * Starts a Shared consumer: every message of the subscription goes to one of its consumers. Rejects when the topic does not exist, when `slots` is no integer from 1,
	 * or when the broker is closed or cannot be reached now. Once started it lives until it is closed: the driver connects it again by itself, and makes its topic anew when that was deleted.
	 */
	subscribe(options: SubscribeOptions): Promise<Subscription>;
	/** How many messages a subscription has not acked yet: waiting, delayed and held ones together. Rejects when there is no such subscription or the broker cannot be asked. */
	backlog(topic: string, subscription: string): Promise<number>;
	/** Makes topics together with their subscriptions; those that exist stay as they are. A subscription keeps what is published from then on, with or without a consumer. */
	ensureTopics(topics: readonly Place[]): Promise<void>;
	/** Whether the broker can be used right now. */
	connected(): boolean;
	/** Calls `listener` at every `event`, never within this call. The same listener is called once for an event however often it is added. */
	on(event: BrokerEvent, listener: () => void): void;
	/** Closes every subscription and the connection. `publish` answers `away` afterwards. A second call does nothing. */
	close(): Promise<void>;
};

/** Where a driver tells of what it can hand to nobody: a `pino` logger fits. */
export type BrokerLog = {
	error(fields: { err: unknown }, text: string): void;
	/** For what heals by itself, such as an outage; without it that goes to `error`. */
	warn?(fields: { err: unknown }, text: string): void;
};

/** The topic of messages that the broker gave up on, for one topic: the model names topics. */
export { deadLetterTopicOf };

/** Where the messages of a topic go that come too often: its dead-letter topic. Null for a dead-letter topic itself, for nobody would look behind it. */
export function lastTopicOf(topic: string): string | null {
	return topic.endsWith(deadLetterTopicOf('')) ? null : deadLetterTopicOf(topic);
}

/**
 * Where a message of a dead-letter topic came from: its topic, without tenant, namespace and partition, and the id that it had there, as a consumer there saw it.
 * Null when it does not say so.
 */
export function originOf({ properties }: Pick<IncomingMessage, 'properties'>): { topic: string; messageId: string } | null {
	const { REAL_TOPIC: topic, ORIGIN_MESSAGE_ID: messageId } = properties;
	if (topic === undefined || messageId === undefined) return null;
	const name = topic.replace(/^(non-)?persistent:\/\/[^/]+\/[^/]+\//, '').replace(/-partition-\d+$/, '');
	return { topic: name, messageId: messageIdText(messageId) };
}
