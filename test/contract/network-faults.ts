import assert from 'node:assert/strict';
import type { Broker } from '@tidings/broker';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { openDriver, type PulsarAddresses } from './driver.js';
import { type FaultBench, fresh, freshPlace, gather, hold, inTime, publishAll, publishOne, textOf, using } from './fault-kit.js';

/**
 * What the WebSocket driver owes when the network breaks. The official client dials the address that the broker gives it, so nothing can stand between
 * those two, and these are no cases of its.
 */
export const NETWORK_FAULTS: readonly { readonly name: string; run(bench: NetworkBench): Promise<void> }[] = [
	{ name: 'connections that are reset come back, and what was un-acked comes again', run: (bench) => throughProxy(bench, reset) },
	{ name: 'a network that swallows everything is noticed by publishing', run: (bench) => throughProxy(bench, swallowed(publishing)) },
	{ name: 'a network that swallows everything is noticed by its silence', run: (bench) => throughProxy(bench, swallowed(waiting)) },
	{ name: 'a message whose answer is swallowed is away, though it may arrive', run: (bench) => throughProxy(bench, answerSwallowed) },
];

/** Where a Pulsar is that nobody needs to kill, and a namespace in it. Cases may run at once. */
export type NetworkBench = Pick<FaultBench, 'driver' | 'namespace'> & { readonly pulsar: PulsarAddresses };

type ProxiedBench = NetworkBench & { readonly proxy: TcpProxy };

async function throughProxy(bench: NetworkBench, act: (bench: ProxiedBench) => Promise<void>): Promise<void> {
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

/** `notice` gets the driver to see that nothing comes through any more. */
function swallowed(notice: (broker: Broker, topic: string) => Promise<void>): (bench: ProxiedBench) => Promise<void> {
	return async ({ driver, pulsar, namespace, proxy }) =>
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
			await notice(broker, place.topic);
			assert.equal(broker.connected(), false);
			proxy.heal();
			await inTime('the broker back', () => broker.connected());
			await publishAndGet();
		});
}

async function publishing(broker: Broker, topic: string): Promise<void> {
	assert.equal((await publishOne(broker, topic)).kind, 'away');
}

async function waiting(broker: Broker): Promise<void> {
	await inTime('the silence noticed', () => !broker.connected());
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
