import { monotonic } from '@tidings/model';
import { backoffMs } from '../backoff.js';
import type { OutgoingMessage, PublishResult } from '../broker.js';
import { textOf } from '../error-text.js';
import type { Sight } from '../presence.js';
import type { PulsarClient, PulsarProducer } from './client-types.js';
import { errorKind } from './error-kind.js';
import { createWindow } from './window.js';
import { within } from './within.js';

/** What the producer of a topic needs. */
export type TopicProducerOptions = {
	readonly client: PulsarClient;
	/** The full name. */
	readonly topic: string;
	/** How long one message may wait for its turn, and then for its answer, in milliseconds. */
	readonly sendTimeoutMs: number;
	/** Why the broker is known to be away; then nothing is tried. */
	away(): string | undefined;
	/** Called when the broker does not answer what it was asked at this time. */
	lost(reason: string, askedAt: number): void;
};

/** A message without its topic. */
type Content = Pick<OutgoingMessage, 'payload' | 'properties'>;

/** How many messages may be unanswered at once. */
const WINDOW = 500;
const CLOSE_MS = 5_000;
/** The client would wait up to a minute before it connects again, and for ever when the topic is gone. */
const MOST_SIGHTS_DOWN = 3;

const CONFIRMED: PublishResult = { kind: 'confirmed' };
const NO_TOPIC: PublishResult = { kind: 'no-topic' };

/** One producer at the client. A retired one is closed as soon as what it has sent is answered. */
type Line = { readonly producer: PulsarProducer; unanswered: number; sightsDown: number; retired: boolean };

/** Publishes to one topic. The connection for it is made by the first message, and anew when it breaks. */
export class TopicProducer {
	readonly #options: TopicProducerOptions;
	readonly #window = createWindow(WINDOW);
	#line: Line | undefined;
	#making: Promise<Line> | undefined;
	#refusal: { readonly reason: string; readonly until: number } | undefined;
	#failures = 0;
	#closed = false;

	constructor(options: TopicProducerOptions) {
		this.#options = options;
	}

	/** Never rejects. */
	async publish(content: Content): Promise<PublishResult> {
		const { sendTimeoutMs, away } = this.#options;
		if (!(await this.#window.enter(sendTimeoutMs))) {
			return { kind: 'away', reason: this.#closed ? 'the broker is closed' : 'too many messages have no answer' };
		}
		const begun = monotonic();
		try {
			const reason = away(); // it may have gone while this message waited for its turn
			if (reason !== undefined) return { kind: 'away', reason };
			await this.#send(content, begun + sendTimeoutMs);
			return CONFIRMED;
		} catch (error) {
			return this.#answer(error, begun);
		} finally {
			this.#window.leave();
		}
	}

	/** Whether its connection stands. Asked every second: one that stays away is given up, and the next message makes another. */
	look(): Sight {
		const line = this.#line;
		if (line === undefined) return 'none';
		if (line.producer.isConnected()) {
			line.sightsDown = 0;
			return 'up';
		}
		line.sightsDown++;
		if (line.sightsDown >= MOST_SIGHTS_DOWN) this.#retire(line);
		return 'down';
	}

	/** Whether it holds nothing, so that it can be forgotten. */
	idle(): boolean {
		return this.#line === undefined && this.#making === undefined && this.#refusal === undefined;
	}

	/** Never rejects. What has no answer yet is answered `away`. */
	async close(): Promise<void> {
		this.#closed = true;
		this.#window.close();
		if (this.#making !== undefined) await within(this.#making, CLOSE_MS, 'still connecting').catch(() => undefined);
		if (this.#line !== undefined) await shut(this.#line.producer);
	}

	async #send({ payload, properties }: Content, end: number): Promise<void> {
		const line = await this.#ready(end - monotonic());
		const data = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
		line.unanswered++;
		try {
			await within(line.producer.send({ data, properties: { ...properties } }), end - monotonic(), 'Failed to send message');
		} catch (error) {
			// Whatever this line has, the next message does not wait for it.
			if (errorKind(error) !== 'refused') this.#retire(line);
			throw error;
		} finally {
			line.unanswered--;
			if (line.retired && line.unanswered === 0) void shut(line.producer);
		}
	}

	/** A line that lost its connection is replaced, not waited for: only a new one says whether the topic is still there. The old one keeps what it has sent until that is answered. */
	async #ready(ms: number): Promise<Line> {
		if (this.#line?.producer.isConnected() === true) return this.#line;
		if (this.#line !== undefined) this.#retire(this.#line);
		if (this.#refusal !== undefined && monotonic() < this.#refusal.until) throw new Error(this.#refusal.reason);
		this.#making ??= this.#make().finally(() => {
			this.#making = undefined;
		});
		return await within(this.#making, ms, 'Failed to create producer');
	}

	async #make(): Promise<Line> {
		const { client, topic, sendTimeoutMs } = this.#options;
		try {
			const creation = client.createProducer({
				topic,
				sendTimeoutMs,
				// Room for two windows: what this process gave up on may still be waiting in the client.
				maxPendingMessages: WINDOW * 2,
				blockIfQueueFull: false,
				batchingEnabled: false,
				hashingScheme: 'Murmur3_32Hash',
			});
			const producer = await within(creation, sendTimeoutMs, 'Failed to create producer', shut);
			this.#refusal = undefined;
			this.#failures = 0;
			const line = { producer, unanswered: 0, sightsDown: 0, retired: false };
			this.#line = line;
			return line;
		} catch (error) {
			this.#failures++;
			if (errorKind(error) === 'failed') this.#refusal = { reason: textOf(error), until: monotonic() + backoffMs(this.#failures) };
			throw error;
		}
	}

	#retire(line: Line): void {
		if (this.#line === line) this.#line = undefined;
		line.retired = true;
		if (line.unanswered === 0) void shut(line.producer);
	}

	#answer(error: unknown, askedAt: number): PublishResult {
		const reason = textOf(error);
		switch (errorKind(error)) {
			case 'no-topic':
				return NO_TOPIC;
			case 'refused':
				return { kind: 'refused', reason };
			case 'unreachable':
				if (!this.#closed) this.#options.lost(reason, askedAt);
				return { kind: 'away', reason };
			case 'failed':
				return { kind: 'away', reason };
		}
	}
}

async function shut(producer: PulsarProducer): Promise<void> {
	await within(producer.close(), CLOSE_MS, 'Failed to close producer').catch(() => undefined);
}
