import { type Broker, type BrokerEvent, openBroker, type PublishResult, type SubscribeOptions, type Subscription } from '@tidings/broker';

/** The embedded broker as if it stood far away: it can leave, come back, and lose a topic, as a driver of a real one would show it. */
export type BreakableBroker = Broker & {
	/** The record ids that anybody tried to publish, in order. */
	readonly tried: readonly string[];
	/** The connection is gone: acks are lost, and what is held comes again after the return. */
	leave(): void;
	/** It is there again; consumers that had begun go on by themselves. */
	comeBack(): Promise<void>;
	/** Every topic is deleted with all its messages. Consumers make theirs again; whoever publishes meets a missing topic. */
	deleteTopics(): Promise<void>;
};

type Consumer = { readonly options: SubscribeOptions; inner: Subscription | null; paused: boolean };

const AWAY: PublishResult = { kind: 'away', reason: 'nobody answers' };

/** Makes one. With `away` it is not there yet. */
export async function makeBreakableBroker(options: { away?: boolean } = {}): Promise<BreakableBroker> {
	const open = (): Promise<Broker> => openBroker({ url: 'embedded:', namespace: 'public/default' });
	let inner = await open();
	let away = options.away ?? false;
	const tried: string[] = [];
	const consumers = new Set<Consumer>();
	const listeners: Record<BrokerEvent, Set<() => void>> = { away: new Set(), back: new Set(), lost: new Set() };
	const tell = (event: BrokerEvent): void => setImmediateAll(listeners[event]);
	const reach = (): void => {
		if (away) throw new Error('the broker cannot be reached');
	};
	const attach = async (consumer: Consumer): Promise<void> => {
		consumer.inner = await inner.subscribe(consumer.options);
		if (consumer.paused) consumer.inner.pause();
	};
	const detach = async (consumer: Consumer): Promise<void> => {
		const former = consumer.inner;
		consumer.inner = null;
		await former?.close();
	};
	return {
		tried,
		leave: () => {
			away = true;
			for (const consumer of consumers) void detach(consumer);
			tell('away');
		},
		comeBack: async () => {
			away = false;
			for (const consumer of consumers) await attach(consumer);
			tell('back');
		},
		deleteTopics: async () => {
			for (const consumer of consumers) await detach(consumer);
			await inner.close();
			inner = await open();
			for (const consumer of consumers) {
				await inner.ensureTopics([consumer.options]);
				await attach(consumer);
			}
		},
		publish: async (messages) => {
			for (const { payload } of messages) tried.push(String(JSON.parse(Buffer.from(payload).toString()).recordId));
			return away ? messages.map(() => AWAY) : await inner.publish(messages);
		},
		subscribe: async (wanted) => {
			reach();
			const consumer: Consumer = { options: wanted, inner: null, paused: false };
			await attach(consumer);
			consumers.add(consumer);
			return {
				pause: () => {
					consumer.paused = true;
					consumer.inner?.pause();
				},
				resume: () => {
					consumer.paused = false;
					consumer.inner?.resume();
				},
				close: async () => {
					consumers.delete(consumer);
					await detach(consumer);
				},
			};
		},
		backlog: async (topic, subscription) => {
			reach();
			return await inner.backlog(topic, subscription);
		},
		ensureTopics: async (places) => {
			reach();
			await inner.ensureTopics(places);
		},
		connected: () => !away && inner.connected(),
		on: (event, listener) => void listeners[event].add(listener),
		close: () => inner.close(),
	};
}

function setImmediateAll(listeners: Iterable<() => void>): void {
	for (const listener of listeners) setImmediate(listener);
}
