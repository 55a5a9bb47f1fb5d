import { setTimeout as wait } from 'node:timers/promises';
import {
	type IncomingMessage,
	lastTopicOf,
	MAX_REDELIVERIES,
	type OutgoingMessage,
	type Place,
	type PublishResult,
	type SubscribeOptions,
	type Subscription,
	THROWN_NACK_MS,
} from '../broker.js';
import { type Delays, makeDelays } from '../delays.js';
import { makeFifo } from '../fifo.js';
import { backoffMs } from './backoff.js';
import type { ConsumerConfig, PulsarClient, PulsarConsumer, PulsarMessage } from './client-types.js';
import { errorKind, nameOf, textOf } from './error-kind.js';
import { messageIdText } from './message-id.js';
import type { Sight } from './presence.js';
import type { Report } from './report.js';
import { within } from './within.js';

/** What a subscription needs. */
export type ConsumerSurroundings = {
	readonly client: PulsarClient;
	/** The full name of a topic. */
	fullName(topic: string): string;
	/** Makes the topic and its subscription; undefined when only the broker can, by itself. */
	readonly ensure: ((place: Place) => Promise<void>) | undefined;
	publish(message: OutgoingMessage): Promise<PublishResult>;
	/** Called when the broker does not answer. */
	lost(reason: string): void;
	readonly report: Report;
};

/** The client waits at least this long before a nacked message comes again; what is to wait longer is held back here, for the client knows one delay per consumer. */
const NACK_MS = 100;
/** More receives at once than this make nothing faster. */
const MOST_RECEIVES = 16;
const MOST_QUEUED = 1_000;
/** The client answers within its own time-out; this is for when it does not. */
const CREATE_MS = 15_000;
const CLOSE_MS = 5_000;
/** A consumer that is seen without connection so often in a row, while the broker is there, is made anew: the client would wait up to a minute, or for ever when its topic is gone. */
const MOST_SIGHTS_DOWN = 3;
/** From this failure in a row on, an attempt to consume is told: about once a minute. */
const TELL_EVERY = 6;

/** One consumer at the client, and what it holds. When it is replaced, everything of it is dropped: un-acked messages come again. */
type Line = {
	readonly consumer: PulsarConsumer;
	readonly held: Set<PulsarMessage>;
	readonly nacked: Delays<PulsarMessage>;
	receiving: number;
	sightsDown: number;
	over: boolean;
};

/** A Shared consumer of one subscription that is made anew when it breaks. */
export class PulsarSubscription implements Subscription {
	readonly #around: ConsumerSurroundings;
	readonly #options: SubscribeOptions;
	/** Received while paused. */
	#unseen = makeFifo<PulsarMessage>();
	readonly #stop = new AbortController();
	#line: Line | undefined;
	#restarting: Promise<void> | undefined;
	#closing: Promise<void> | undefined;
	#paused = false;
	/** In a row, until a message comes or a connection stands. */
	#failures = 0;

	constructor(around: ConsumerSurroundings, options: SubscribeOptions) {
		this.#around = around;
		this.#options = options;
	}

	/** Makes the first consumer. Rejects when the topic does not exist or the broker cannot be reached. */
	async start(): Promise<void> {
		const { topic, subscription } = this.#options;
		try {
			await this.#connect();
		} catch (error) {
			if (errorKind(error) === 'no-topic') throw new Error(`there is no topic ${topic}`, { cause: error });
			if (errorKind(error) === 'unreachable') this.#around.lost(textOf(error));
			throw new Error(`subscription ${subscription} of topic ${topic} cannot be consumed: ${textOf(error)}`, { cause: error });
		}
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		if (!this.#paused) return;
		this.#paused = false;
		const line = this.#line;
		if (line === undefined) return;
		while (!this.#paused) {
			const message = this.#unseen.shift();
			if (message === undefined) break;
			this.#hand(line, message);
		}
		this.#receive(line);
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/** Whether its connection stands. Asked every second: a consumer that stays without one is made anew. */
	look(brokerIsThere: boolean): Sight {
		const line = this.#line;
		if (line === undefined) return 'none';
		if (line.consumer.isConnected()) {
			line.sightsDown = 0;
			this.#failures = 0;
			return 'up';
		}
		if (brokerIsThere) line.sightsDown++;
		if (line.sightsDown >= MOST_SIGHTS_DOWN) this.#restart(line, new Error('its connection does not come back'));
		return 'down';
	}

	async #connect(): Promise<void> {
		const creation = this.#around.client.subscribe(this.#config());
		const consumer = await within(creation, CREATE_MS, 'Failed to create consumer', shut);
		if (this.#stop.signal.aborted) return await shut(consumer);
		const nacked = makeDelays<PulsarMessage>((message) => this.#give(line, message));
		const line: Line = { consumer, held: new Set(), nacked, receiving: 0, sightsDown: 0, over: false };
		this.#line = line;
		this.#receive(line);
	}

	#config(): ConsumerConfig {
		const { topic, subscription, slots } = this.#options;
		return {
			topic: this.#around.fullName(topic),
			subscription,
			subscriptionType: 'Shared',
			subscriptionInitialPosition: 'Earliest',
			nAckRedeliverTimeoutMs: NACK_MS,
			receiverQueueSize: Math.min(MOST_QUEUED, slots),
		};
	}

	/** Asks for as many messages as there are free slots. */
	#receive(line: Line): void {
		while (!line.over && !this.#paused && line.receiving < MOST_RECEIVES && line.held.size + line.receiving < this.#options.slots) {
			line.receiving++;
			line.consumer.receive().then(
				(message) => this.#take(line, message),
				(error) => this.#restart(line, error),
			);
		}
	}

	#take(line: Line, message: PulsarMessage): void {
		line.receiving--;
		if (line.over) return;
		this.#failures = 0;
		line.held.add(message);
		if (this.#paused) this.#unseen.push(message);
		else this.#hand(line, message);
		this.#receive(line);
	}

	#hand(line: Line, message: PulsarMessage): void {
		try {
			this.#options.onMessage(this.#incoming(line, message));
		} catch (error) {
			this.#nack(line, message, THROWN_NACK_MS);
			this.#around.report(error, 'a handler of the broker threw');
		}
	}

	#incoming(line: Line, message: PulsarMessage): IncomingMessage {
		return {
			id: messageIdText(message.getMessageId().toString()),
			topic: this.#options.topic,
			payload: message.getData(),
			properties: { ...message.getProperties() },
			redeliveryCount: message.getRedeliveryCount(),
			ack: () => this.#ack(line, message),
			nack: (delayMs) => this.#nack(line, message, delayMs),
		};
	}

	#ack(line: Line, message: PulsarMessage): void {
		if (!line.held.delete(message)) return;
		this.#acknowledge(line, message);
		this.#receive(line);
	}

	/** An ack that fails is no loss: the message comes again. */
	#acknowledge(line: Line, message: PulsarMessage): void {
		line.consumer.acknowledge(message).catch((error) => {
			if (nameOf(error) === 'AlreadyClosed') this.#restart(line, error);
		});
	}

	#nack(line: Line, message: PulsarMessage, delayMs: number): void {
		if (!line.held.delete(message)) return;
		if (delayMs > NACK_MS) line.nacked.add(message, delayMs - NACK_MS);
		else this.#give(line, message);
		this.#receive(line);
	}

	/** The message goes back to the broker, or to the dead-letter topic. */
	#give(line: Line, message: PulsarMessage): void {
		const { topic, maxRedeliveries = MAX_REDELIVERIES } = this.#options;
		const last = message.getRedeliveryCount() < maxRedeliveries ? null : lastTopicOf(topic);
		if (last === null) this.#return(line, message);
		else void this.#bury(line, message, last);
	}

	/** Not left to the client's own policy: while the dead-letter topic does not exist that one neither moves the message nor lets it come again. Never rejects. */
	async #bury(line: Line, message: PulsarMessage, last: string): Promise<void> {
		const { topic, subscription } = this.#options;
		const { payload, properties, id } = this.#incoming(line, message);
		const result = await this.#around.publish({
			topic: last,
			payload,
			properties: {
				...properties,
				REAL_TOPIC: this.#around.fullName(topic),
				REAL_SUBSCRIPTION: subscription,
				ORIGIN_MESSAGE_ID: id,
			},
		});
		if (line.over) return; // it comes again: better twice among the dead letters than not at all
		if (result.kind === 'confirmed') this.#acknowledge(line, message);
		else this.#return(line, message);
	}

	#return(line: Line, message: PulsarMessage): void {
		try {
			line.consumer.negativeAcknowledge(message);
		} catch (error) {
			this.#restart(line, error);
		}
	}

	#drop(line: Line): void {
		line.over = true;
		line.held.clear();
		line.nacked.close();
		this.#unseen = makeFifo();
		this.#line = undefined;
	}

	#restart(line: Line, reason: unknown): void {
		if (line.over) return;
		this.#drop(line);
		void shut(line.consumer);
		this.#restarting = this.#reconnect(reason);
	}

	/** Never rejects. A topic that was deleted is made again, where that is up to us. */
	async #reconnect(reason: unknown): Promise<void> {
		const { topic, subscription } = this.#options;
		const { signal } = this.#stop;
		let last = reason;
		while (!signal.aborted) {
			this.#failures++;
			if (this.#failures % TELL_EVERY === 0)
				this.#around.report(last, `subscription ${subscription} of topic ${topic} is not consumed`, 'warn');
			await wait(backoffMs(this.#failures), undefined, { signal }).catch(() => undefined);
			if (signal.aborted) return;
			try {
				if (errorKind(last) === 'no-topic') await this.#around.ensure?.({ topic, subscription });
				return await this.#connect();
			} catch (error) {
				last = error;
				if (errorKind(error) === 'unreachable') this.#around.lost(textOf(error));
			}
		}
	}

	async #close(): Promise<void> {
		this.#stop.abort();
		const line = this.#line;
		if (line !== undefined) this.#drop(line);
		if (line !== undefined) await shut(line.consumer);
		if (this.#restarting !== undefined) await within(this.#restarting, CLOSE_MS, 'still connecting').catch(() => undefined);
	}
}

async function shut(consumer: PulsarConsumer): Promise<void> {
	await within(consumer.close(), CLOSE_MS, 'Failed to close consumer').catch(() => undefined);
}
