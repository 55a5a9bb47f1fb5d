import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { type Broker, type IncomingMessage, MAX_PAYLOAD_BYTES } from '@tidings/broker';
import { callAdmin } from '../harness/namespace.js';
import { openDriver } from './driver.js';
import {
	type FaultBench,
	type FaultCase,
	fresh,
	freshPlace,
	gather,
	hold,
	inTime,
	publishAll,
	publishOne,
	textOf,
	using,
} from './fault-kit.js';
import { holdElsewhere } from './hold-elsewhere.js';

/** What a driver of a real Pulsar owes when the broker breaks. Cases leave the broker running. */
export const BROKER_FAULTS: readonly FaultCase[] = [
	{ name: 'a broker killed with -9 under load comes back to its publishers and consumers, and nothing confirmed is lost', run: killed },
	{ name: 'a broker that stops answering while its sockets stay open is away, and consumers recover', run: stopped },
	{ name: 'what a process held that was killed goes to another consumer', run: killedConsumer },
	{ name: 'a payload near the limit passes whole, one over it and one of 6 MB are refused clearly', run: large },
	{ name: 'a topic deleted under its consumer is made anew by it, and messages flow again', run: deletedUnderConsumer },
	{ name: 'a topic deleted under a producer is answered no-topic until it is made again', run: deletedUnderProducer },
	{ name: 'a partitioned topic is one topic to its users', run: partitioned },
];

async function killed({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		const other = { topic: place.topic, subscription: 'other' };
		await broker.ensureTopics([place, other]);
		const events: string[] = [];
		for (const event of ['away', 'back', 'lost'] as const) broker.on(event, () => events.push(event));
		const { texts } = await gather(broker, place);
		const held = await hold(broker, other, 4);
		const load = startLoad(broker, place.topic);
		await inTime('messages under way', () => load.confirmed.length >= 300 && held.length === 4);

		await pulsar.kill();
		await inTime('the outage noticed', () => !broker.connected());
		await using(await openDriver(driver, pulsar, { namespace }), async (late) => {
			assert.equal((await publishOne(late, place.topic)).kind, 'away');
			await assert.rejects(late.subscribe({ ...place, slots: 1, onMessage: () => undefined }));
			await pulsar.restart();
			await inTime('both connected again', () => broker.connected() && late.connected());
			await publishAll(late, fresh(place.topic, 1));
		});
		const before = load.confirmed.length;
		await inTime('more messages confirmed', () => load.confirmed.length >= before + 300);
		await load.stop();
		await inTime('every confirmed message at the consumer', () => load.confirmed.every((text) => texts.has(text)));
		await inTime('nothing left over', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
		assert.deepEqual(events, ['away', 'back']);

		const waiting = await broker.backlog(other.topic, other.subscription);
		// These came over a connection that is gone: their acks free the slots of the consumer and settle nothing.
		const lost = held.slice(0, 4);
		for (const message of lost) message.ack();
		const again = ({ id }: IncomingMessage): boolean => held.filter((message) => message.id === id).length === 2;
		await inTime('what was held came again', () => lost.every(again));
		held[4]?.ack();
		await inTime('one message acked', async () => (await broker.backlog(other.topic, other.subscription)) === waiting - 1);
	});
}

/** Publishes without end, many messages at once, and waits while the broker is away. */
function startLoad(broker: Broker, topic: string): { readonly confirmed: readonly string[]; stop(): Promise<void> } {
	const confirmed: string[] = [];
	let stopped = false;
	const run = async (): Promise<void> => {
		while (!stopped) {
			const batch = fresh(topic, 20);
			const results = await broker.publish(batch);
			assert.ok(results.every(({ kind }) => kind === 'confirmed' || kind === 'away'));
			confirmed.push(...batch.filter((_, n) => results[n]?.kind === 'confirmed').map(textOf));
			if (results.some(({ kind }) => kind === 'away')) await inTime('the broker back', () => stopped || broker.connected());
			// An answer that is there at once must not keep the sockets from being read.
			await setImmediate();
		}
	};
	const done = run();
	// The failure is told by `stop`.
	done.catch(() => undefined);
	return {
		confirmed,
		stop: () => {
			stopped = true;
			return done;
		},
	};
}

async function killedConsumer({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const messages = fresh(place.topic, 20);
		await publishAll(broker, messages);
		const other = await holdElsewhere(driver, pulsar, { ...place, namespace, slots: 5 });
		try {
			await inTime('five messages held by the other process', () => other.held().length === 5);
		} finally {
			await other.kill();
		}
		const { texts } = await gather(broker, place);
		await inTime('every message', () => messages.every((message) => texts.has(textOf(message))));
		assert.ok(other.held().every((text) => texts.has(text)));
		await inTime('nothing left over', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
	});
}

async function stopped({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		const unused = freshPlace();
		await broker.ensureTopics([place, unused]);
		const { texts } = await gather(broker, place);
		const first = fresh(place.topic, 10);
		await publishAll(broker, first);
		await inTime('the first messages', () => first.every((message) => texts.has(textOf(message))));

		process.kill(pulsar.pid(), 'SIGSTOP');
		try {
			const answers = await Promise.all([broker.publish(fresh(place.topic, 5)), publishOne(broker, unused.topic)]);
			assert.deepEqual(
				answers.flat().map(({ kind }) => kind),
				Array.from({ length: 6 }, () => 'away'),
			);
			assert.equal(broker.connected(), false);
		} finally {
			process.kill(pulsar.pid(), 'SIGCONT');
		}
		await inTime('the broker back', () => broker.connected());
		const second = fresh(place.topic, 10);
		await publishAll(broker, second);
		await inTime('the messages after it', () => second.every((message) => texts.has(textOf(message))));
	});
}

async function large({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const sized = (bytes: number) => ({ topic: place.topic, payload: Buffer.alloc(bytes, 'tidings'), properties: {} });
		// The broker counts its own headers, too.
		const largest = MAX_PAYLOAD_BYTES - 10_000;
		const results = await broker.publish([1, MAX_PAYLOAD_BYTES + 1, 6_000_000, largest, 2].map(sized));
		assert.deepEqual(
			results.map(({ kind }) => kind),
			['confirmed', 'refused', 'refused', 'confirmed', 'confirmed'],
		);
		for (const result of results) if (result.kind === 'refused') assert.match(result.reason, /larger|size|limit/i);
		const held = await hold(broker, place, 5);
		await inTime('what was confirmed', () => held.length === 3);
		const bodies = held.map(({ payload }) => Buffer.from(payload)).sort((a, b) => a.length - b.length);
		assert.deepEqual(
			bodies,
			[1, 2, largest].map((bytes) => sized(bytes).payload),
		);
	});
}

async function deletedUnderConsumer({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const { texts } = await gather(broker, place);
		const first = fresh(place.topic, 10);
		await publishAll(broker, first);
		await inTime('the first messages', () => first.every((message) => texts.has(textOf(message))));

		await deleteTopic(pulsar.webUrl, namespace, place.topic);
		const sent = new Set<string>();
		await inTime('a message through the new topic', async () => {
			const message = fresh(place.topic, 1);
			const [result] = await broker.publish(message);
			assert.ok(result !== undefined && result.kind !== 'refused', `publish answered ${JSON.stringify(result)}`);
			if (result.kind === 'confirmed') sent.add(message.map(textOf).join());
			return [...sent].some((text) => texts.has(text));
		});
		const second = fresh(place.topic, 10);
		await publishAll(broker, second);
		await inTime('the messages after it', () => second.every((message) => texts.has(textOf(message))));
	});
}

async function deletedUnderProducer({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		await publishAll(broker, fresh(place.topic, 10));

		await deleteTopic(pulsar.webUrl, namespace, place.topic);
		const kinds = new Set<string>();
		await inTime('no-topic', async () => {
			kinds.add((await publishOne(broker, place.topic)).kind);
			return kinds.has('no-topic');
		});
		kinds.delete('away');
		assert.deepEqual([...kinds], ['no-topic']);

		await broker.ensureTopics([place]);
		const messages = fresh(place.topic, 10);
		await publishAll(broker, messages);
		const { texts } = await gather(broker, place);
		await inTime('the messages after it', () => messages.every((message) => texts.has(textOf(message))));
		assert.equal(texts.size, messages.length);
	});
}

async function deleteTopic(url: string, namespace: string, topic: string): Promise<void> {
	await callAdmin({ url }, 'DELETE', `persistent/${namespace}/${topic}?force=true`);
}

async function partitioned({ driver, pulsar, namespace }: FaultBench): Promise<void> {
	const place = freshPlace();
	await callAdmin({ url: pulsar.webUrl }, 'PUT', `persistent/${namespace}/${place.topic}/partitions`, 3);
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		await broker.ensureTopics([place]);
		const messages = fresh(place.topic, 60);
		await publishAll(broker, messages);
		assert.equal(await broker.backlog(place.topic, place.subscription), 60);

		const deliveries = new Map<string, string[]>();
		await broker.subscribe({
			...place,
			slots: 10,
			onMessage: (message) => {
				assert.equal(message.topic, place.topic);
				const ids = deliveries.get(textOf(message)) ?? [];
				deliveries.set(textOf(message), [...ids, message.id]);
				// One in six comes twice.
				if (ids.length === 0 && deliveries.size % 6 === 0) message.nack(100);
				else message.ack();
			},
		});
		await inTime('nothing left over', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
		assert.deepEqual([...deliveries.keys()].sort(), messages.map(textOf).sort());
		assert.equal([...deliveries.values()].filter((ids) => ids.length > 1).length, 10);
		for (const ids of deliveries.values()) assert.equal(new Set(ids).size, 1);
		assert.equal(new Set([...deliveries.values()].flat()).size, 60);
	});
}
