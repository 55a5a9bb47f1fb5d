import type { IncomingMessage, Place } from '../../broker.js';
import { EmbeddedBroker } from '../../embedded.js';
import type {
	ClientConfig,
	ConsumerConfig,
	ProducerConfig,
	PulsarClient,
	PulsarConsumer,
	PulsarMessage,
	PulsarModule,
	PulsarProducer,
} from '../client-types.js';
import type { PulsarAdmin } from '../pulsar-broker.js';

const NACK_FLOOR_MS = 100;
const ACK_GROUP_MS = 100;
const MOST_BYTES = 5 * 1024 * 1024;

/** The official client as the driver sees it, on the embedded broker, with its peculiarities: errors that are texts, properties in an array, late nacks, grouped acks. */
export type FakePulsar = {
	readonly module: PulsarModule;
	readonly admin: PulsarAdmin;
	/** What the driver asked for. */
	readonly clients: ClientConfig[];
	readonly producers: ProducerConfig[];
	readonly consumers: ConsumerConfig[];
	/** Sends that have no answer now, and the most there ever were. */
	readonly sends: { now: number; most: number };
	/** While true, nothing connects and what is connected is not any more. */
	down: boolean;
	/** While true, sends get no answer. */
	silent: boolean;
	/** A name that making a producer or sending fails with. */
	failCreate: string | undefined;
	failSend: string | undefined;
	/** Ends every consumer as the client does when it gives up. */
	breakConsumers(): Promise<void>;
	/** The topic is gone, with everything on it, and the broker makes none by itself. */
	deleteTopic(topic: string): Promise<void>;
	/** Lets the client write to its log. */
	say(level: number, text: string): void;
	/** Log handlers that were set. */
	readonly handlers: ((level: number, file: string, line: number, text: string) => void)[];
};

/** What is at the fake's broker. */
type World = {
	broker: EmbeddedBroker;
	/** By topic, its subscriptions. */
	readonly topics: Map<string, Place[]>;
	readonly open: Set<FakeConsumer>;
	readonly createsTopics: boolean;
};

/** Makes a fake of its own, with topics of its own. */
export function fakePulsar({ createsTopics = false }: { readonly createsTopics?: boolean } = {}): FakePulsar {
	const world: World = { broker: new EmbeddedBroker(), topics: new Map(), open: new Set(), createsTopics };
	const fake: FakePulsar = {
		module: { Client: makeClient(() => fake, world), AuthenticationToken },
		admin: {
			ensureTopics: (places) => ensure(world, places),
			backlog: (topic, subscription) => world.broker.backlog(topic, subscription),
		},
		clients: [],
		producers: [],
		consumers: [],
		sends: { now: 0, most: 0 },
		down: false,
		silent: false,
		failCreate: undefined,
		failSend: undefined,
		handlers: [],
		async breakConsumers() {
			await Promise.all([...world.open].map((consumer) => consumer.close()));
			world.open.clear();
		},
		async deleteTopic(topic) {
			world.topics.delete(topic);
			await fake.breakConsumers();
			await world.broker.close();
			world.broker = new EmbeddedBroker();
			await world.broker.ensureTopics([...world.topics.values()].flat());
		},
		say: (level, text) => {
			for (const handler of fake.handlers) handler(level, 'ClientImpl.cc', 1, text);
		},
	};
	return fake;
}

class AuthenticationToken {
	readonly token: string;
	constructor({ token }: { token: string }) {
		this.token = token;
	}
}

async function ensure({ broker, topics }: World, places: readonly Place[]): Promise<void> {
	for (const place of places) topics.set(place.topic, [...(topics.get(place.topic) ?? []), place]);
	await broker.ensureTopics(places);
}

function shortName(topic: string): string {
	return topic.slice(topic.lastIndexOf('/') + 1);
}

/** The class that a module has for its process. */
function makeClient(fakeOf: () => FakePulsar, world: World): PulsarModule['Client'] {
	return class Client implements PulsarClient {
		static setLogHandler(handler: FakePulsar['handlers'][number]): void {
			fakeOf().handlers.push(handler);
		}

		constructor(config: ClientConfig) {
			fakeOf().clients.push(config);
		}

		async getPartitionsForTopic(topic: string): Promise<string[]> {
			if (fakeOf().down) throw new Error('Failed to get partitions: ConnectError');
			if (!world.topics.has(shortName(topic))) throw new Error('Failed to get partitions: TopicNotFound');
			return [topic];
		}

		async createProducer(config: ProducerConfig): Promise<PulsarProducer> {
			const fake = fakeOf();
			fake.producers.push(config);
			await nextTurn();
			if (fake.down) throw new Error('Failed to create producer: TimeOut');
			if (fake.failCreate !== undefined) throw new Error(`Failed to create producer: ${fake.failCreate}`);
			if (!world.topics.has(shortName(config.topic))) throw new Error('Failed to create producer: TopicNotFound');
			return fakeProducer(fake, () => world.broker, shortName(config.topic));
		}

		async subscribe(config: ConsumerConfig): Promise<PulsarConsumer> {
			const fake = fakeOf();
			fake.consumers.push(config);
			const place = { topic: shortName(config.topic), subscription: config.subscription };
			if (fake.down) throw new Error('Failed to create consumer: TimeOut');
			if (world.createsTopics) await ensure(world, [place]);
			if (!world.topics.has(place.topic)) throw new Error('Failed to create consumer: TopicNotFound');
			const consumer = new FakeConsumer(fake, config);
			await consumer.start(world.broker, place);
			world.open.add(consumer);
			return consumer;
		}

		async close(): Promise<null> {
			await Promise.all([...world.open].map((consumer) => consumer.close()));
			return null;
		}
	};
}

function fakeProducer(fake: FakePulsar, broker: () => EmbeddedBroker, topic: string): PulsarProducer {
	let closed = false;
	async function send({ data, properties }: { data: Buffer; properties: Record<string, string> }): Promise<unknown> {
		if (closed) throw new Error('Failed to send message: AlreadyClosed');
		if (data.length > MOST_BYTES) throw new Error('Failed to send message: MessageTooBig');
		// The client copies what it gets, and takes a text for nothing at all.
		const message = { topic, payload: Buffer.isBuffer(data) ? Buffer.from(data) : Buffer.alloc(0), properties: { ...properties } };
		await nextTurn();
		if (fake.down || fake.silent) return await new Promise(() => undefined);
		if (fake.failSend !== undefined) throw new Error(`Failed to send message: ${fake.failSend}`);
		const [result] = await broker().publish([message]);
		if (result?.kind !== 'confirmed') throw new Error('Failed to send message: TopicNotFound');
		return null;
	}
	return {
		async send(message) {
			fake.sends.now++;
			fake.sends.most = Math.max(fake.sends.most, fake.sends.now);
			try {
				return await send(message);
			} finally {
				fake.sends.now--;
			}
		},
		isConnected: () => !closed && !fake.down,
		async close() {
			closed = true;
			return null;
		},
	};
}

class FakeMessage implements PulsarMessage {
	readonly held: IncomingMessage;
	constructor(held: IncomingMessage) {
		this.held = held;
	}
	getData(): Buffer {
		return Buffer.from(this.held.payload);
	}
	getProperties(): { [name: string]: string } {
		return Object.assign([], this.held.properties) as unknown as { [name: string]: string };
	}
	getMessageId(): { toString(): string } {
		const entry = this.held.id.slice(this.held.id.lastIndexOf(':') + 1);
		return { toString: () => `(7,${entry},-1,-1)` };
	}
	getRedeliveryCount(): number {
		return this.held.redeliveryCount;
	}
}

type Waiter = { resolve(message: PulsarMessage): void; reject(error: Error): void };

/** Takes messages until `receiverQueueSize` wait, however many are un-acked. */
class FakeConsumer implements PulsarConsumer {
	readonly #fake: FakePulsar;
	readonly #config: ConsumerConfig;
	readonly #queue: FakeMessage[] = [];
	readonly #waiters: Waiter[] = [];
	readonly #timers = new Set<NodeJS.Timeout>();
	#acked: FakeMessage[] = [];
	#closed = false;
	#feed: { pause(): void; resume(): void; close(): Promise<void> } | undefined;

	constructor(fake: FakePulsar, config: ConsumerConfig) {
		this.#fake = fake;
		this.#config = config;
	}

	async start(broker: EmbeddedBroker, place: Place): Promise<void> {
		const onMessage = (message: IncomingMessage): void => this.#arrive(new FakeMessage(message));
		this.#feed = await broker.subscribe({ ...place, slots: 1_000_000, maxRedeliveries: Number.MAX_SAFE_INTEGER, onMessage });
	}

	receive(): Promise<PulsarMessage> {
		if (this.#closed) return Promise.reject(new Error('Failed to receive message: AlreadyClosed'));
		const message = this.#queue.shift();
		if (message === undefined) return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
		this.#feed?.resume();
		return Promise.resolve(message);
	}

	async acknowledge(message: PulsarMessage): Promise<null> {
		if (this.#closed) throw new Error('Failed to acknowledge: AlreadyClosed');
		if (message instanceof FakeMessage) this.#acked.push(message);
		if (this.#acked.length === 1) this.#after(ACK_GROUP_MS, () => this.#flush());
		return null;
	}

	negativeAcknowledge(message: PulsarMessage): void {
		const delay = Math.max(NACK_FLOOR_MS, this.#config.nAckRedeliverTimeoutMs);
		this.#after(delay + delay / 3, () => message instanceof FakeMessage && message.held.nack(0));
	}

	isConnected(): boolean {
		return !this.#closed && !this.#fake.down;
	}

	async close(): Promise<null> {
		this.#flush();
		this.#closed = true;
		for (const timer of this.#timers) clearTimeout(timer);
		for (const { reject } of this.#waiters.splice(0)) reject(new Error('Failed to receive message: AlreadyClosed'));
		await this.#feed?.close();
		return null;
	}

	#arrive(message: FakeMessage): void {
		const waiter = this.#waiters.shift();
		if (waiter !== undefined) waiter.resolve(message);
		else this.#queue.push(message);
		if (this.#queue.length >= this.#config.receiverQueueSize) this.#feed?.pause();
	}

	#flush(): void {
		for (const { held } of this.#acked) held.ack();
		this.#acked = [];
	}

	#after(ms: number, act: () => void): void {
		const timer = setTimeout(() => {
			this.#timers.delete(timer);
			act();
		}, ms);
		this.#timers.add(timer);
	}
}

function nextTurn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
