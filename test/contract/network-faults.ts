import assert from 'node:assert/strict';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
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

/**
 * What the WebSocket driver owes when the network breaks. The official client dials the address that the broker gives it, so nothing can stand between
 * those two, and these are no cases of its.
 */
export const NETWORK_FAULTS: readonly FaultCase[] = [
	{ name: 'connections that are reset come back, and what was un-acked comes again', run: (bench) => throughProxy(bench, reset) },
	{ name: 'a network that swallows everything is noticed, by publishing and without', run: (bench) => throughProxy(bench, swallowed) },
	{ name: 'a message whose answer is swallowed is away, though it may arrive', run: (bench) => throughProxy(bench, answerSwallowed) },
];

type ProxiedBench = FaultBench & { readonly proxy: TcpProxy };

async function throughProxy(bench: FaultBench, act: (bench: ProxiedBench) => Promise<void>): Promise<void> {
	const proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(bench.pulsar.webUrl).port) });
	const [webUrl, wsUrl] = [`http://127.0.0.1:${proxy.port}`, `ws://127.0.0.1:${proxy.port}`];
	try {
		await act({ ...bench, proxy, pulsar: { ...bench.pulsar, webUrl, wsUrl } });
	} finally {
		await proxy.close();
	}
}

async function reset({ driver, pulsar, namespace, proxy }: ProxiedBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const held = await hold(broker, place, 3);
		await publishAll(broker, fresh(place.topic, 3));
		await inTime('three messages held', () => held.length === 3);
		for (let round = 1; round <= 3; round++) {
			const latest = held.slice(-3);
			proxy.cut();
			for (const message of latest) message.ack();
			await inTime('all three again', () => held.length === 3 * (round + 1));
			assert.deepEqual(new Set(held.map(textOf)).size, 3);
		}
		for (const message of held.slice(-3)) message.ack();
		await inTime('nothing left over', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
		await publishAll(broker, fresh(place.topic, 3));
	});
}

async function swallowed({ driver, pulsar, namespace, proxy }: ProxiedBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const { texts } = await gather(broker, place);
		const publishAndGet = async (): Promise<void> => {
			const messages = fresh(place.topic, 5);
			await publishAll(broker, messages);
			await inTime('every message', () => messages.every((message) => texts.has(textOf(message))));
		};
		await publishAndGet();

		proxy.blackhole(true);
		assert.equal((await publishOne(broker, place.topic)).kind, 'away');
		assert.equal(broker.connected(), false);
		proxy.heal();
		await inTime('the broker back', () => broker.connected());
		await publishAndGet();

		proxy.blackhole(true);
		await inTime('the silence noticed', () => !broker.connected());
		proxy.heal();
		await inTime('the broker back', () => broker.connected());
		await publishAndGet();
	});
}

async function answerSwallowed({ driver, pulsar, namespace, proxy }: ProxiedBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		await publishAll(broker, fresh(place.topic, 1));
		proxy.halfOpen('down');
		assert.equal((await publishOne(broker, place.topic)).kind, 'away');
		proxy.heal();
		await inTime('the broker back', () => broker.connected());
		// It was stored: whoever publishes it again has it twice.
		await inTime('both messages', async () => (await broker.backlog(place.topic, place.subscription)) === 2);
	});
}
