import {
	type IncomingMessage,
	MAX_REDELIVERIES,
	type OutgoingMessage,
	type PublishResult,
	type SubscribeOptions,
	THROWN_NACK_MS,
} from '../broker.js';
import { deadLetterCopy } from '../dead-letter-copy.js';
import { makeDelays } from '../delays.js';
import { makeFifo } from '../fifo.js';
import type { Report } from '../report.js';
import type { PulsarConsumer, PulsarMessage } from './client-types.js';
import { nameOf } from './error-kind.js';
import { messageIdText } from './message-id.js';
import { within } from './within.js';

/** What a line needs from the subscription around it. */
export type LineSurroundings = {
	readonly options: SubscribeOptions;
	/** The full name of a topic. */
	fullName(topic: string): string;
	publish(message: OutgoingMessage): Promise<PublishResult>;
	readonly report: Report;
	/** How many slots are taken by what an earlier line has shown. */
	taken(): number;
	paused(): boolean;
	/** A message was settled that this line does not hold. */
	foreign(message: PulsarMessage): void;
	/** The consumer is of no use any more. */
	broken(reason: unknown): void;
};

/** The client waits at least this long before a nacked message comes again; what is to wait longer is held back here, for the client knows one delay per consumer. */
export const NACK_MS = 100;
/** More receives at once than this make nothing faster. */
const MOST_RECEIVES = 16;
const CLOSE_MS = 5_000;

/** One consumer at the client, and what it holds. When it is dropped, un-acked messages come again by another, and settling them here settles nothing. */
export class ConsumerLine {
	readonly #consumer: PulsarConsumer;
	readonly #around: LineSurroundings;
	readonly #held = new Set<PulsarMessage>();
	/** Received while paused: held, and not shown yet. */
	readonly #unseen = makeFifo<PulsarMessage>();
	readonly #nacked = makeDelays<PulsarMessage>((message) => this.#give(message));
	#receiving = 0;
	#over = false;

	constructor(consumer: PulsarConsumer, around: LineSurroundings) {
		this.#consumer = consumer;
		this.#around = around;
	}

	connected(): boolean {
		return this.#consumer.isConnected();
	}

	/** Asks for as many messages as there are free slots; called whenever one may have become free. */
	receive(): void {
		const { options, taken, paused } = this.#around;
		while (!this.#over && !paused() && this.#receiving < MOST_RECEIVES && this.#held.size + this.#receiving + taken() < options.slots) {
			this.#receiving++;
			this.#consumer.receive().then(
				(message) => this.#take(message),
				(error) => this.#break(error),
			);
		}
	}

	/** Shows what came during the pause, and goes on. */
	resume(): void {
		while (!this.#around.paused()) {
			const message = this.#unseen.shift();
			if (message === undefined) break;
			this.#hand(message);
		}
		this.receive();
	}

	/** Ends it, and returns what was shown and is not settled. A second call returns nothing. */
	drop(): PulsarMessage[] {
		if (this.#over) return [];
		this.#over = true;
		for (let message = this.#unseen.shift(); message !== undefined; message = this.#unseen.shift()) this.#held.delete(message);
		const shown = [...this.#held];
		this.#held.clear();
		this.#nacked.close();
		return shown;
	}

	/** Closes the client's consumer; call `drop` before. Never rejects. */
	async shut(): Promise<void> {
		await shut(this.#consumer);
	}

	#take(message: PulsarMessage): void {
		this.#receiving--;
		if (this.#over) return;
		this.#held.add(message);
		if (this.#around.paused()) this.#unseen.push(message);
		else this.#hand(message);
		this.receive();
	}

	#hand(message: PulsarMessage): void {
		try {
			this.#around.options.onMessage(this.#incoming(message));
		} catch (error) {
			this.#nack(message, THROWN_NACK_MS);
			this.#around.report(error, 'a handler of the broker threw');
		}
	}

	#incoming(message: PulsarMessage): IncomingMessage {
		return {
			id: messageIdText(message.getMessageId().toString()),
			topic: this.#around.options.topic,
			payload: message.getData(),
			properties: { ...message.getProperties() },
			redeliveryCount: message.getRedeliveryCount(),
			ack: () => this.#ack(message),
			nack: (delayMs) => this.#nack(message, delayMs),
		};
	}

	#ack(message: PulsarMessage): void {
		if (this.#held.delete(message)) this.#acknowledge(message);
		else this.#around.foreign(message);
		this.receive();
	}

	/** An ack that fails is no loss: the message comes again. */
	#acknowledge(message: PulsarMessage): void {
		this.#consumer.acknowledge(message).catch((error) => {
			if (nameOf(error) === 'AlreadyClosed') this.#break(error);
		});
	}

	#nack(message: PulsarMessage, delayMs: number): void {
		if (!this.#held.delete(message)) this.#around.foreign(message);
		else if (delayMs > NACK_MS) this.#nacked.add(message, delayMs - NACK_MS);
		else this.#give(message);
		this.receive();
	}

	/** The message goes back to the broker, or to the dead-letter topic. */
	#give(message: PulsarMessage): void {
		const { maxRedeliveries = MAX_REDELIVERIES } = this.#around.options;
		if (message.getRedeliveryCount() < maxRedeliveries) this.#return(message);
		else void this.#bury(message);
	}

	/** Not left to the client's own policy: while the dead-letter topic does not exist that one neither moves the message nor lets it come again. Never rejects. */
	async #bury(message: PulsarMessage): Promise<void> {
		const { options, fullName, publish } = this.#around;
		const copy = deadLetterCopy(this.#incoming(message), options.subscription, fullName(options.topic));
		const buried = copy !== null && (await publish(copy)).kind === 'confirmed';
		if (this.#over) return; // it comes again: better twice among the dead letters than not at all
		if (buried) this.#acknowledge(message);
		else this.#return(message);
	}

	#return(message: PulsarMessage): void {
		try {
			this.#consumer.negativeAcknowledge(message);
		} catch (error) {
			this.#break(error);
		}
	}

	#break(reason: unknown): void {
		if (!this.#over) this.#around.broken(reason);
	}
}

/** Closes a consumer of the client. Never rejects. */
export async function shut(consumer: PulsarConsumer): Promise<void> {
	await within(consumer.close(), CLOSE_MS, 'Failed to close consumer').catch(() => undefined);
}
