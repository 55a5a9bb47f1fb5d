import { type IncomingMessage, MAX_REDELIVERIES, type SubscribeOptions, type Subscription, THROWN_NACK_MS } from './broker.js';
import { makeFifo } from './fifo.js';

/** A message as a subscription keeps it. A redelivery makes a new one, so that a late ack of an earlier delivery settles nothing. */
export type Entry = Pick<IncomingMessage, 'id' | 'topic' | 'payload' | 'properties' | 'redeliveryCount'>;

/** What a queue needs from the broker around it. */
export type Surroundings = {
	/** There is something to deliver: call `deliver` soon, and never from within this call. */
	wake(queue: SharedQueue): void;
	/** Call `pushAgain` with the entry after so many milliseconds. */
	delay(queue: SharedQueue, entry: Entry, delayMs: number): void;
	/** The entry came too often: moves it to the dead-letter topic. False when there is no such topic. */
	moveAway(entry: Entry): boolean;
	/** A handler threw. */
	report(error: unknown): void;
};

type Consumer = {
	readonly options: SubscribeOptions;
	/** What it has not settled, oldest first. */
	readonly held: Set<Entry>;
	paused: boolean;
};

/** The messages of one subscription, and the consumers that share them in turn. */
export class SharedQueue {
	readonly #around: Surroundings;
	readonly #fresh = makeFifo<Entry>();
	readonly #again = makeFifo<Entry>();
	readonly #consumers: Consumer[] = [];
	#turn = 0;
	#unacked = 0;

	constructor(around: Surroundings) {
		this.#around = around;
	}

	/** How many messages are not acked yet: waiting, delayed and held ones together. */
	get backlog(): number {
		return this.#unacked;
	}

	/** Adds a newly published message. */
	push(entry: Entry): void {
		this.#unacked++;
		this.#fresh.push(entry);
		this.#wake();
	}

	/** Takes back a message that was delivered before; it goes before all new ones. */
	pushAgain(entry: Entry): void {
		this.#again.push(entry);
		this.#wake();
	}

	/** Hands out at most `most` messages. True when that was the limit, so that there may be more to do. */
	deliver(most: number): boolean {
		for (let given = 0; given < most; given++) {
			if (this.#again.size() + this.#fresh.size() === 0) return false;
			const consumer = this.#nextFree();
			if (consumer === undefined) return false;
			const entry = this.#again.shift() ?? this.#fresh.shift();
			if (entry !== undefined) this.#hand(consumer, entry);
		}
		return true;
	}

	/** Adds a consumer. */
	attach(options: SubscribeOptions): Subscription {
		const consumer: Consumer = { options, held: new Set(), paused: false };
		this.#consumers.push(consumer);
		this.#wake();
		return {
			pause: () => {
				consumer.paused = true;
			},
			resume: () => {
				consumer.paused = false;
				this.#wake();
			},
			close: async () => this.#detach(consumer),
		};
	}

	/** Lets every consumer go; what they hold cannot be settled any more. */
	close(): void {
		for (const consumer of this.#consumers.splice(0)) consumer.held.clear();
	}

	#wake(): void {
		if (this.#consumers.length > 0) this.#around.wake(this);
	}

	/** Consumers take turns, so that none starves while it has a free slot. */
	#nextFree(): Consumer | undefined {
		for (let tried = 0; tried < this.#consumers.length; tried++) {
			this.#turn = (this.#turn + 1) % this.#consumers.length;
			const consumer = this.#consumers[this.#turn];
			if (consumer !== undefined && !consumer.paused && consumer.held.size < consumer.options.slots) return consumer;
		}
		return undefined;
	}

	#hand(consumer: Consumer, entry: Entry): void {
		consumer.held.add(entry);
		const { id, topic, payload, properties, redeliveryCount } = entry;
		const ack = (): void => this.#ack(consumer, entry);
		const nack = (delayMs: number): void => this.#nack(consumer, entry, delayMs);
		try {
			consumer.options.onMessage({ id, topic, payload, properties, redeliveryCount, ack, nack });
		} catch (error) {
			nack(THROWN_NACK_MS);
			this.#around.report(error);
		}
	}

	#ack(consumer: Consumer, entry: Entry): void {
		if (!consumer.held.delete(entry)) return;
		this.#unacked--;
		this.#wake();
	}

	#nack(consumer: Consumer, entry: Entry, delayMs: number): void {
		if (!consumer.held.delete(entry)) return;
		const next = { ...entry, redeliveryCount: entry.redeliveryCount + 1 };
		const { maxRedeliveries = MAX_REDELIVERIES } = consumer.options;
		if (next.redeliveryCount > maxRedeliveries && this.#around.moveAway(entry)) this.#unacked--;
		else if (delayMs > 0) this.#around.delay(this, next, delayMs);
		else this.#again.push(next);
		this.#wake(); // the slot is free, also while this message waits
	}

	#detach(consumer: Consumer): void {
		const at = this.#consumers.indexOf(consumer);
		if (at < 0) return;
		this.#consumers.splice(at, 1);
		// As with Pulsar, the count of redeliveries goes with the consumer: nobody may rely on it.
		for (const entry of consumer.held) this.#again.push({ ...entry, redeliveryCount: 0 });
		consumer.held.clear();
		this.#wake();
	}
}
