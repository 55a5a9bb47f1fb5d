import { monotonic } from '@tidings/model';
import { backoffMs } from '../backoff.js';
import type { OutgoingMessage, PublishResult } from '../broker.js';
import { makeFifo } from '../fifo.js';
import type { Sight } from '../presence.js';
import type { Dialled, DialOptions, Line, LineHandlers } from './dial.js';
import { readRefusal } from './read-refusal.js';

/** What the producer of a topic needs. */
export type ProducerSurroundings = {
	/** Connects to the topic. */
	dial(handlers: LineHandlers, signal: DialOptions['signal']): Promise<Dialled>;
	/** How long the broker may take to answer a message, in milliseconds. */
	readonly sendTimeoutMs: number;
	/** Called when the broker does not answer what it was asked at this time of the monotonic clock. */
	lost(reason: string, askedAt: number): void;
};

/** How many messages may be unanswered at once, and how much text of them; one message may always be. */
const WINDOW = 500;
const WINDOW_LENGTH = 24 * 1024 * 1024;
/** How WebSocket says that a frame is too large for the other side. */
const TOO_LARGE_CODE = 1009;

const CONFIRMED: PublishResult = { kind: 'confirmed' };
const NO_TOPIC: PublishResult = { kind: 'no-topic' };
const CLOSED = 'the broker is closed';

type Sending = {
	readonly message: OutgoingMessage;
	readonly answer: (result: PublishResult) => void;
	/** When it was sent, by the monotonic clock, and the length of its frame. */
	sentAt: number;
	length: number;
	/** It has met a producer that was gone, and goes once more by a new one. */
	again: boolean;
};

/** Publishes to one topic, pipelined, over a connection that the first message makes. A connection that ends is made anew by the next message. */
export class TopicProducer {
	readonly #around: ProducerSurroundings;
	readonly #stop = new AbortController();
	readonly #waiting = makeFifo<Sending>();
	/** By the context that the answer repeats, oldest first. */
	readonly #unanswered = new Map<string, Sending>();
	#unansweredLength = 0;
	#sent = 0;
	#line: Line | undefined;
	/** The broker's producer behind the connection is gone; it gets nothing more. */
	#stale = false;
	#dialling = false;
	#failures = 0;
	#refusal: { readonly reason: string; readonly until: number } | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(around: ProducerSurroundings) {
		this.#around = around;
	}

	/** Never rejects. */
	publish(message: OutgoingMessage): Promise<PublishResult> {
		if (this.#stop.signal.aborted) return Promise.resolve({ kind: 'away', reason: CLOSED });
		const resting = this.#resting();
		if (resting !== undefined) return Promise.resolve({ kind: 'away', reason: resting });
		return new Promise((answer) => {
			this.#waiting.push({ message, answer, sentAt: 0, length: 0, again: false });
			this.#pump();
		});
	}

	/** Whether a connection stands; without one there is nothing to ask. */
	look(): Sight {
		return this.#line === undefined ? 'none' : 'up';
	}

	/** Whether it holds nothing, so that it can be forgotten. */
	idle(): boolean {
		return this.#line === undefined && !this.#dialling && this.#waiting.size() === 0 && this.#resting() === undefined;
	}

	/** What has no answer yet is answered `away`. */
	async close(): Promise<void> {
		this.#stop.abort();
		this.#answerAll({ kind: 'away', reason: CLOSED });
		await this.#line?.close();
	}

	/** Why nothing is tried just now. */
	#resting(): string | undefined {
		return this.#refusal !== undefined && monotonic() < this.#refusal.until ? this.#refusal.reason : undefined;
	}

	#pump(): void {
		if (this.#line === undefined) {
			if (!this.#dialling && this.#waiting.size() > 0) void this.#connect();
			return;
		}
		while (!this.#stale && this.#unanswered.size < WINDOW && this.#unansweredLength < WINDOW_LENGTH) {
			const sending = this.#waiting.shift();
			if (sending === undefined) return;
			this.#send(this.#line, sending);
		}
	}

	#send(line: Line, sending: Sending): void {
		const { payload, properties } = sending.message;
		const context = String(++this.#sent);
		const base64 = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('base64');
		const frame = JSON.stringify({ payload: base64, properties, context });
		sending.sentAt = monotonic();
		sending.length = frame.length;
		this.#unanswered.set(context, sending);
		this.#unansweredLength += frame.length;
		line.send(frame);
		this.#timer ??= setTimeout(() => this.#ring(), this.#around.sendTimeoutMs);
	}

	async #connect(): Promise<void> {
		this.#dialling = true;
		const askedAt = monotonic();
		const handlers: LineHandlers = { onText: (text) => this.#read(text), onEnd: (end) => this.#end(end) };
		const dialled = await this.#around.dial(handlers, this.#stop.signal);
		this.#dialling = false;
		if (dialled.kind === 'open') {
			this.#line = dialled.line;
			this.#stale = false;
			if (this.#stop.signal.aborted) await dialled.line.close();
			else this.#pump();
		} else if (dialled.kind === 'no-topic') {
			this.#refusal = undefined;
			this.#answerAll(NO_TOPIC);
		} else this.#giveUp({ ...dialled, kind: dialled.kind }, askedAt);
	}

	/** While the broker is away somebody else asks whether it is back; a broker that is there and fails is not asked again at once. */
	#giveUp({ kind, reason }: { readonly kind: 'failed' | 'away'; readonly reason: string }, askedAt: number): void {
		if (kind === 'away') this.#around.lost(reason, askedAt);
		else this.#refusal = { reason, until: monotonic() + backoffMs(++this.#failures) };
		this.#answerAll({ kind: 'away', reason });
	}

	#read(text: string): void {
		const { context, result, errorMsg } = parse(text);
		// An answer without context is about a message that the broker could not read; when there is only one, it is known which.
		const key = context ?? (this.#unanswered.size === 1 ? this.#unanswered.keys().next().value : undefined);
		const sending = key === undefined ? undefined : this.#take(key);
		if (sending === undefined) {
			if (context === undefined) this.#line?.cut(); // nobody knows what it is about, so nobody waits for it
			return;
		}
		if (result === 'ok') {
			this.#failures = 0;
			this.#refusal = undefined;
			sending.answer(CONFIRMED);
		} else this.#refuse(sending, result, errorMsg);
		if (this.#stale && this.#unanswered.size === 0) this.#line?.cut();
		this.#pump();
	}

	#refuse(sending: Sending, result: string, text: string): void {
		const reason = `the broker answered ${result} ${text.slice(0, 300)}`.trim();
		const refusal = readRefusal(result, text);
		this.#stale ||= refusal === 'closed' || refusal === 'no-topic';
		if (refusal === 'refused') sending.answer({ kind: 'refused', reason });
		else if (refusal === 'no-topic') sending.answer(NO_TOPIC);
		else if (refusal === 'away' || sending.again) sending.answer({ kind: 'away', reason });
		else {
			sending.again = true;
			this.#waiting.push(sending);
		}
	}

	#take(context: string): Sending | undefined {
		const sending = this.#unanswered.get(context);
		if (sending === undefined) return undefined;
		this.#unanswered.delete(context);
		this.#unansweredLength -= sending.length;
		return sending;
	}

	#end({ code, reason }: { readonly code: number; readonly reason: string }): void {
		this.#line = undefined;
		if (code === TOO_LARGE_CODE) this.#refuseLargest();
		for (const context of [...this.#unanswered.keys()]) this.#take(context)?.answer({ kind: 'away', reason });
		this.#disarm();
		if (!this.#stop.signal.aborted) this.#pump();
	}

	/** The broker does not say which frame was too large for it, but the largest was. */
	#refuseLargest(): void {
		const [largest] = [...this.#unanswered].sort(([, one], [, other]) => other.length - one.length);
		if (largest === undefined) return;
		const reason = 'the message is larger than a frame that the broker takes (webSocketMaxTextFrameSize)';
		this.#take(largest[0])?.answer({ kind: 'refused', reason });
	}

	#ring(): void {
		this.#timer = undefined;
		const [oldest] = this.#unanswered.values();
		if (oldest === undefined) return;
		const left = oldest.sentAt + this.#around.sendTimeoutMs - monotonic();
		if (left > 0) {
			this.#timer = setTimeout(() => this.#ring(), Math.ceil(left));
			return;
		}
		const reason = `the broker did not answer within ${this.#around.sendTimeoutMs} ms`;
		this.#around.lost(reason, oldest.sentAt);
		this.#answerAll({ kind: 'away', reason });
		this.#line?.cut();
	}

	#answerAll(result: PublishResult): void {
		for (const context of [...this.#unanswered.keys()]) this.#take(context)?.answer(result);
		for (let sending = this.#waiting.shift(); sending !== undefined; sending = this.#waiting.shift()) sending.answer(result);
		this.#disarm();
	}

	#disarm(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}

function parse(text: string): { context: string | undefined; result: string; errorMsg: string } {
	try {
		const { context, result, errorMsg } = JSON.parse(text) as Record<string, unknown>;
		return {
			context: typeof context === 'string' ? context : undefined,
			result: typeof result === 'string' ? result : 'nothing readable',
			errorMsg: typeof errorMsg === 'string' ? errorMsg : '',
		};
	} catch {
		return { context: undefined, result: 'nothing readable', errorMsg: '' };
	}
}
