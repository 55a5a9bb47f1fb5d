import { monotonic } from '@tidings/model';
import { backoffMs } from '../backoff.js';
import { type IncomingMessage, MAX_REDELIVERIES, type SubscribeOptions, type Subscription, THROWN_NACK_MS } from '../broker.js';
import { type Delays, makeDelays } from '../delays.js';
import { textOf } from '../error-text.js';
import { makeFifo } from '../fifo.js';
import type { Sight } from '../presence.js';
import type { Report } from '../report.js';
import { ackFrame, nackFrame, permitFrame } from './consumer-frames.js';
import type { Dialled, DialOptions, Line, LineHandlers } from './dial.js';
import { type DeliveredMessage, readMessage } from './read-message.js';
import { makeRest } from './rest.js';

/** What a subscription needs. */
export type SubscriptionSurroundings = {
	/** Connects a consumer. */
	dial(handlers: LineHandlers, signal: DialOptions['signal']): Promise<Dialled>;
	/** Publishes to the dead-letter topic. Never rejects; false when that topic does not exist or the message was not confirmed there. */
	bury(message: DeliveredMessage): Promise<boolean>;
	/** Makes its topic and subscription. */
	ensure(): Promise<void>;
	/** Whether the broker sees the consumer; rejects when that cannot be known now. */
	seen(): Promise<boolean>;
	/** Why the broker is known to be away; then nothing is tried. */
	away(): string | undefined;
	/** Called when the broker does not answer what it was asked at this time of the monotonic clock. */
	lost(reason: string, askedAt: number): void;
	readonly report: Report;
	/** How long nothing may come before it is looked whether the broker still sees the consumer, in milliseconds. */
	readonly checkMs: number;
};

/** A connection that lived so long had no trouble at its begin. */
const STEADY_MS = 10_000;
/** From this failure in a row on, an attempt to consume is told: about once a minute. */
const TELL_EVERY = 6;
const CLOSED = 'the subscription is closed';

/** One connection and what came over it. At its end everything of it is dropped: un-acked messages come again. */
type Epoch = {
	line: Line | undefined;
	/** Given to the handler and not settled, or unseen. */
	held: number;
	/** How many messages the broker may still send. */
	granted: number;
	readonly openedAt: number;
	lastAt: number;
	over: boolean;
	/** Nacked, and held back from the broker until their time: the API knows one delay per consumer only. */
	readonly nacked: Delays<DeliveredMessage>;
};

type Delivery = DeliveredMessage & { readonly epoch: Epoch; settled: boolean };

/** A Shared consumer of one subscription, in pull mode, that connects again by itself. */
export class WebSocketSubscription implements Subscription {
	readonly #around: SubscriptionSurroundings;
	readonly #options: SubscribeOptions;
	readonly #stop = new AbortController();
	#epoch: Epoch | undefined;
	/** Not settled, of this and of earlier connections: a handler works on them all. */
	#busy = 0;
	/** Came while paused. */
	#unseen = makeFifo<Delivery>();
	#paused = false;
	#granting = false;
	#failures = 0;
	#check: NodeJS.Timeout | undefined;
	readonly #rest = makeRest();

	constructor(around: SubscriptionSurroundings, options: SubscribeOptions) {
		this.#around = around;
		this.#options = options;
	}

	/** Makes the first connection. Rejects when the topic does not exist or the broker cannot be reached. */
	async start(): Promise<void> {
		const { topic, subscription } = this.#options;
		const askedAt = monotonic();
		const dialled = await this.#connect();
		if (this.#stop.signal.aborted) throw new Error(CLOSED);
		if (dialled.kind === 'open') return;
		if (dialled.kind === 'away') this.#around.lost(dialled.reason, askedAt);
		if (dialled.kind === 'no-topic') throw new Error(`there is no topic ${topic}`);
		throw new Error(`subscription ${subscription} of topic ${topic} cannot be consumed: ${dialled.reason}`);
	}

	/** Whether a connection stands; without one there is nothing to ask. */
	look(): Sight {
		return this.#epoch === undefined ? 'none' : 'up';
	}

	/** Ends a pause between two attempts to connect. */
	wake(): void {
		this.#rest.wake();
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		this.#paused = false;
		while (!this.#paused) {
			const delivery = this.#unseen.shift();
			if (delivery === undefined) break;
			this.#hand(delivery);
		}
		this.#grantSoon();
	}

	async close(): Promise<void> {
		this.#stop.abort();
		clearTimeout(this.#check);
		this.#rest.wake();
		const line = this.#epoch?.line;
		if (this.#epoch !== undefined) this.#drop(this.#epoch);
		await line?.close();
	}

	async #connect(): Promise<Dialled> {
		const epoch: Epoch = {
			line: undefined,
			held: 0,
			granted: 0,
			openedAt: monotonic(),
			lastAt: monotonic(),
			over: false,
			nacked: makeDelays((message) => this.#giveBack(epoch, message)),
		};
		const handlers: LineHandlers = { onText: (text) => this.#read(epoch, text), onEnd: ({ reason }) => this.#end(epoch, reason) };
		const dialled = await this.#around.dial(handlers, this.#stop.signal);
		if (dialled.kind !== 'open') return dialled;
		if (this.#stop.signal.aborted) {
			epoch.over = true;
			await dialled.line.close();
			return { kind: 'failed', reason: CLOSED };
		}
		if (epoch.over) return { kind: 'failed', reason: 'the connection ended at once' };
		epoch.line = dialled.line;
		this.#epoch = epoch;
		this.#grant();
		this.#checkLater();
		return dialled;
	}

	/** One permit for each slot that is free. A connection over which nothing may come gets one in any case, else it would wait for a handler that is stuck. */
	#grant(): void {
		const epoch = this.#epoch;
		if (epoch === undefined || this.#paused) return;
		const free = this.#options.slots - this.#busy - epoch.granted;
		const permits = free <= 0 && epoch.held + epoch.granted === 0 ? 1 : free;
		if (permits <= 0) return;
		epoch.granted += permits;
		epoch.line?.send(permitFrame(permits));
	}

	/** Many messages that are settled in one go need one frame. */
	#grantSoon(): void {
		if (this.#granting) return;
		this.#granting = true;
		queueMicrotask(() => {
			this.#granting = false;
			this.#grant();
		});
	}

	#read(epoch: Epoch, text: string): void {
		if (epoch.over) return;
		epoch.lastAt = monotonic();
		let message: DeliveredMessage | null;
		try {
			message = readMessage(text);
		} catch (error) {
			this.#around.report(error, `a message of topic ${this.#options.topic} cannot be read`);
			epoch.line?.cut();
			return;
		}
		if (message === null) return;
		epoch.granted--;
		epoch.held++;
		this.#busy++;
		const delivery: Delivery = { ...message, epoch, settled: false };
		if (this.#paused) this.#unseen.push(delivery);
		else this.#hand(delivery);
	}

	#hand(delivery: Delivery): void {
		const { id, payload, properties, redeliveryCount } = delivery;
		const message: IncomingMessage = {
			id,
			topic: this.#options.topic,
			payload,
			properties,
			redeliveryCount,
			ack: () => this.#ack(delivery),
			nack: (delayMs) => this.#nack(delivery, delayMs),
		};
		try {
			this.#options.onMessage(message);
		} catch (error) {
			this.#nack(delivery, THROWN_NACK_MS);
			this.#around.report(error, 'a handler of the broker threw');
		}
	}

	#ack(delivery: Delivery): void {
		if (this.#settle(delivery)) delivery.epoch.line?.send(ackFrame(delivery.rawId));
	}

	/** The whole delay is waited for here; the broker's own, which comes on top, is no promise to the millisecond. */
	#nack(delivery: Delivery, delayMs: number): void {
		if (!this.#settle(delivery)) return;
		if (delayMs > 0) delivery.epoch.nacked.add(delivery, delayMs);
		else this.#giveBack(delivery.epoch, delivery);
	}

	#giveBack(epoch: Epoch, message: DeliveredMessage): void {
		const { maxRedeliveries = MAX_REDELIVERIES } = this.#options;
		if (message.redeliveryCount >= maxRedeliveries) void this.#bury(epoch, message);
		else epoch.line?.send(nackFrame(message.rawId));
	}

	/** Not left to a dead-letter policy at the broker: while the topic does not exist that one neither moves the message nor lets it come again. Never rejects. */
	async #bury(epoch: Epoch, message: DeliveredMessage): Promise<void> {
		const buried = await this.#around.bury(message);
		if (epoch.over) return; // it comes again: better twice among the dead letters than not at all
		epoch.line?.send(buried ? ackFrame(message.rawId) : nackFrame(message.rawId));
	}

	/** Frees the slot. False when the broker wants to hear nothing about it: it is settled, or came over a connection that has ended. */
	#settle(delivery: Delivery): boolean {
		if (delivery.settled) return false;
		delivery.settled = true;
		delivery.epoch.held--;
		this.#busy--;
		this.#grantSoon();
		return !delivery.epoch.over;
	}

	#drop(epoch: Epoch): void {
		epoch.over = true;
		epoch.nacked.close();
		if (this.#epoch !== epoch) return;
		this.#epoch = undefined;
		this.#busy -= this.#unseen.size();
		this.#unseen = makeFifo();
		clearTimeout(this.#check);
	}

	#end(epoch: Epoch, reason: string): void {
		const stood = this.#epoch === epoch;
		this.#drop(epoch);
		if (!stood || this.#stop.signal.aborted) return;
		if (monotonic() - epoch.openedAt >= STEADY_MS) this.#failures = 0;
		void this.#reconnect(reason);
	}

	/** Never rejects. A topic that was deleted is made again. */
	async #reconnect(why: string): Promise<void> {
		const { topic, subscription } = this.#options;
		const { signal } = this.#stop;
		let reason = why;
		while (!signal.aborted) {
			await this.#rest.take(backoffMs(this.#failures + 1));
			// While the broker is away somebody else asks whether it is back, and then wakes everybody.
			if (signal.aborted || this.#around.away() !== undefined) continue;
			this.#failures++;
			const askedAt = monotonic();
			const dialled = await this.#connect();
			if (signal.aborted || dialled.kind === 'open') return;
			reason = dialled.reason;
			if (dialled.kind === 'away') this.#around.lost(reason, askedAt);
			if (dialled.kind === 'no-topic') reason = await this.#around.ensure().then(() => dialled.reason, textOf);
			if (this.#failures % TELL_EVERY === 0)
				this.#around.report(new Error(reason), `subscription ${subscription} of topic ${topic} is not consumed`);
		}
	}

	/** A consumer whose topic was deleted hears nothing of it, not even when the topic is made anew: its connection stays open for ever. */
	#checkLater(): void {
		clearTimeout(this.#check);
		this.#check = setTimeout(() => void this.#look(), this.#around.checkMs);
	}

	async #look(): Promise<void> {
		const epoch = this.#epoch;
		if (epoch === undefined) return;
		if (monotonic() - epoch.lastAt >= this.#around.checkMs) {
			const seen = await this.#around.seen().catch(() => true);
			if (!seen && !epoch.over) return epoch.line?.cut();
		}
		if (!epoch.over) this.#checkLater();
	}
}
