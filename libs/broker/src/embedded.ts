import { newId } from '@tidings/model';
import type { Broker, BrokerEvent, BrokerLog, OutgoingMessage, Place, PublishResult, SubscribeOptions, Subscription } from './broker.js';
import { refusalOf } from './check-message.js';
import { deadLetterCopy } from './dead-letter-copy.js';
import { makeDelays } from './delays.js';
import { type Entry, SharedQueue, type Surroundings } from './shared-queue.js';

/** How many messages of one subscription are handed out before timers and sockets get their turn again. */
const MESSAGES_PER_TURN = 256;

const CONFIRMED: PublishResult = { kind: 'confirmed' };
const NO_TOPIC: PublishResult = { kind: 'no-topic' };
const CLOSED = 'the broker is closed';
const AWAY: PublishResult = { kind: 'away', reason: CLOSED };

/**
 * The driver `embedded:`: a broker in the memory of this process, for everything in one process. Each one opened has a memory of its own, which
 * ends with it; so every `lost` listener is called once, soon after it is added: what an earlier process held is gone. It is never away.
 * Errors of handlers and listeners go to `log`; without one they become process warnings.
 */
export class EmbeddedBroker implements Broker {
	readonly #log: BrokerLog | undefined;
	/** By topic, then by subscription. */
	readonly #topics = new Map<string, Map<string, SharedQueue>>();
	readonly #delays = makeDelays<{ queue: SharedQueue; entry: Entry }>(({ queue, entry }) => queue.pushAgain(entry));
	readonly #awake = new Set<SharedQueue>();
	readonly #lostListeners = new Set<() => void>();
	readonly #untold = new Set<() => void>();
	/** Keeps ids unique over restarts, for a poison message is archived under its id. */
	readonly #origin = newId();
	#published = 0;
	#closed = false;
	#immediate: NodeJS.Immediate | undefined;

	constructor(log?: BrokerLog) {
		this.#log = log;
	}

	async publish(messages: readonly OutgoingMessage[]): Promise<PublishResult[]> {
		return messages.map((message) => (this.#closed ? AWAY : this.#publish(message)));
	}

	async subscribe(options: SubscribeOptions): Promise<Subscription> {
		if (!Number.isInteger(options.slots) || options.slots < 1)
			throw new RangeError(`slots must be an integer from 1, not ${options.slots}`);
		return this.#queue(options).attach(options);
	}

	async backlog(topic: string, subscription: string): Promise<number> {
		return this.#queue({ topic, subscription }).backlog;
	}

	async ensureTopics(topics: readonly Place[]): Promise<void> {
		if (this.#closed) throw new Error(CLOSED);
		for (const place of topics) this.#ensure(place);
	}

	connected(): boolean {
		return !this.#closed;
	}

	on(event: BrokerEvent, listener: () => void): void {
		if (event !== 'lost' || this.#lostListeners.has(listener)) return;
		this.#lostListeners.add(listener);
		this.#untold.add(listener);
		this.#soon();
	}

	async close(): Promise<void> {
		this.#closed = true;
		clearImmediate(this.#immediate);
		this.#delays.close();
		for (const queues of this.#topics.values()) for (const queue of queues.values()) queue.close();
		this.#topics.clear();
		this.#awake.clear();
		this.#untold.clear();
	}

	#publish(message: OutgoingMessage): PublishResult {
		const queues = this.#topics.get(message.topic);
		if (queues === undefined) return NO_TOPIC;
		const refusal = refusalOf(message);
		if (refusal !== null) return refusal;
		this.#published++;
		const entry: Entry = {
			id: `${this.#origin}:${this.#published}`,
			topic: message.topic,
			payload: Buffer.from(message.payload), // a copy: the publisher may use its bytes again
			properties: { ...message.properties },
			redeliveryCount: 0,
		};
		for (const queue of queues.values()) queue.push(entry);
		return CONFIRMED;
	}

	#queue({ topic, subscription }: Place): SharedQueue {
		if (this.#closed) throw new Error(CLOSED);
		const queues = this.#topics.get(topic);
		if (queues === undefined) throw new Error(`there is no topic ${topic}`);
		const queue = queues.get(subscription);
		if (queue === undefined) throw new Error(`topic ${topic} has no subscription ${subscription}`);
		return queue;
	}

	#ensure({ topic, subscription }: Place): void {
		const queues = this.#topics.get(topic) ?? new Map<string, SharedQueue>();
		this.#topics.set(topic, queues);
		if (!queues.has(subscription)) queues.set(subscription, new SharedQueue(this.#surroundings(subscription)));
	}

	#surroundings(subscription: string): Surroundings {
		return {
			wake: (queue) => this.#wake(queue),
			delay: (queue, entry, delayMs) => this.#delays.add({ queue, entry }, delayMs),
			moveAway: (entry) => this.#moveAway(entry, subscription),
			report: (error) => this.#report(error),
		};
	}

	#moveAway(entry: Entry, subscription: string): boolean {
		const copy = deadLetterCopy(entry, subscription, entry.topic);
		return copy !== null && this.#publish(copy).kind === 'confirmed';
	}

	#wake(queue: SharedQueue): void {
		this.#awake.add(queue);
		this.#soon();
	}

	#soon(): void {
		if (!this.#closed) this.#immediate ??= setImmediate(() => this.#turn());
	}

	#turn(): void {
		this.#immediate = undefined;
		for (const listener of take(this.#untold)) this.#tell(listener);
		for (const queue of take(this.#awake)) if (queue.deliver(MESSAGES_PER_TURN)) this.#wake(queue);
	}

	#tell(listener: () => void): void {
		try {
			listener();
		} catch (error) {
			this.#report(error);
		}
	}

	#report(error: unknown): void {
		if (this.#log !== undefined) this.#log.error({ err: error }, 'a handler of the broker threw');
		else process.emitWarning(error instanceof Error ? error : String(error));
	}
}

/** Empties a set and returns what was in it: what is added meanwhile waits for the next turn. */
function take<T>(set: Set<T>): T[] {
	const items = [...set];
	set.clear();
	return items;
}
