import type { Broker, BrokerEvent, OutgoingMessage, Place, PublishResult, SubscribeOptions, Subscription } from './broker.js';
import { refusalOf } from './check-message.js';
import { Presence, type Sight } from './presence.js';
import type { Report } from './report.js';

/** What a driver does in its own way. */
export type PulsarDriver = Pick<Broker, 'backlog' | 'ensureTopics'> & {
	/** Whether nothing is sent before the broker has answered for the first time, and nothing subscribed to while it is away: for a client that tries long what cannot be. */
	readonly asksFirst: boolean;
	readonly report: Report;
	/** As presence wants it. */
	probe(): Promise<void>;
	makeProducer(topic: string): Producer;
	/** Makes one that is still to be started. */
	makeConsumer(options: SubscribeOptions): Consumer;
	/** Lets go of the rest when all producers and consumers are closed. */
	close(): Promise<void>;
};

/** What the front lends to a driver. */
export type Front = {
	/** Publishes one message. Never rejects. */
	publish(message: OutgoingMessage): Promise<PublishResult>;
	/** Why the broker is known to be away. */
	away(): string | undefined;
	/** Called when the broker does not answer what it was asked at this time of the monotonic clock. */
	lost(reason: string, askedAt: number): void;
};

type Connected = {
	/** Whether its connection stands. Asked every second. */
	look(): Sight;
	close(): Promise<void>;
};
type Producer = Connected & {
	/** Never rejects. */
	publish(message: OutgoingMessage): Promise<PublishResult>;
	/** Whether it holds nothing, so that it can be forgotten. */
	idle(): boolean;
};
type Consumer = Connected &
	Subscription & {
		/** Rejects when the topic does not exist or the broker cannot be reached. */
		start(): Promise<void>;
		/** The broker is back: tries at once what waits for its next attempt. */
		wake(): void;
	};

const CLOSED = 'the broker is closed';

/** The port to a Pulsar: what its drivers have in common. It asks the broker at once whether it is there. */
export function openPulsarFront(makeDriver: (front: Front) => PulsarDriver): Broker {
	return new PulsarFront(makeDriver);
}

class PulsarFront implements Broker {
	readonly #driver: PulsarDriver;
	readonly #presence: Presence;
	/** By topic. */
	readonly #producers = new Map<string, Producer>();
	readonly #consumers = new Set<Consumer>();
	#closing: Promise<void> | undefined;

	constructor(makeDriver: (front: Front) => PulsarDriver) {
		this.#driver = makeDriver({
			publish: (message) => this.#publish(message),
			away: () => this.#presence.away(),
			lost: (reason, askedAt) => this.#presence.lost(reason, askedAt),
		});
		const { probe, report } = this.#driver;
		this.#presence = new Presence({ probe, look: () => this.#look(), report });
		this.#presence.on('back', () => {
			for (const consumer of this.#consumers) consumer.wake();
		});
	}

	publish(messages: readonly OutgoingMessage[]): Promise<PublishResult[]> {
		return Promise.all(messages.map((message) => this.#publish(message)));
	}

	async subscribe(options: SubscribeOptions): Promise<Subscription> {
		this.#assertOpen();
		if (!Number.isInteger(options.slots) || options.slots < 1)
			throw new RangeError(`slots must be an integer from 1, not ${options.slots}`);
		if (this.#driver.asksFirst) {
			await this.#presence.answered();
			const reason = this.#away();
			if (reason !== undefined) throw new Error(`the broker is away: ${reason}`);
		}
		const consumer = this.#driver.makeConsumer(options);
		this.#consumers.add(consumer);
		try {
			await consumer.start();
			this.#assertOpen();
		} catch (error) {
			this.#consumers.delete(consumer);
			throw error;
		}
		return {
			pause: () => consumer.pause(),
			resume: () => consumer.resume(),
			close: () => {
				this.#consumers.delete(consumer);
				return consumer.close();
			},
		};
	}

	async backlog(topic: string, subscription: string): Promise<number> {
		this.#assertOpen();
		return await this.#driver.backlog(topic, subscription);
	}

	async ensureTopics(places: readonly Place[]): Promise<void> {
		this.#assertOpen();
		await this.#driver.ensureTopics(places);
		// The admin API may answer by another port: whoever has made topics finds the broker connected if it is.
		if (!this.connected()) await this.#presence.check();
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

	async #publish(message: OutgoingMessage): Promise<PublishResult> {
		if (this.#closing !== undefined) return { kind: 'away', reason: CLOSED };
		const refusal = refusalOf(message);
		if (refusal !== null) return refusal;
		if (this.#driver.asksFirst) await this.#presence.answered();
		const reason = this.#away();
		if (reason !== undefined) return { kind: 'away', reason };
		const { topic } = message;
		const producer = this.#producers.get(topic) ?? this.#driver.makeProducer(topic);
		this.#producers.set(topic, producer);
		const result = await producer.publish(message);
		if (result.kind === 'no-topic' && producer.idle()) this.#producers.delete(topic);
		return result;
	}

	/** Why nothing can be done now. */
	#away(): string | undefined {
		return this.#closing === undefined ? this.#presence.away() : CLOSED;
	}

	#assertOpen(): void {
		if (this.#closing !== undefined) throw new Error(CLOSED);
	}

	#look(): Sight {
		// Each is asked: a look also makes anew what is broken.
		const sights = [...this.#producers.values(), ...this.#consumers].map((one) => one.look());
		if (sights.includes('up')) return 'up';
		return sights.includes('down') ? 'down' : 'none';
	}

	async #close(): Promise<void> {
		this.#presence.close();
		await Promise.all([...this.#consumers, ...this.#producers.values()].map((one) => one.close()));
		await this.#driver.close();
	}
}
