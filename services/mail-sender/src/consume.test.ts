import { expect, test } from '@jest/globals';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { makeBreakableBroker } from '../../../test/harness/breakable-broker.js';
import { eventually } from '../../../test/harness/eventually.js';
import { createConsumer } from './consume.js';

function make(broker: Awaited<ReturnType<typeof makeBreakableBroker>>) {
	const got: string[] = [];
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const consumer = createConsumer({
		broker,
		route: 'mail-send',
		inHand: 10,
		messagingSystem: 'none',
		onMessage: (message) => {
			got.push(`${message.lane} ${message.topic}`);
			message.ack();
		},
		log: createLogger({ service: 'test', level: 'silent' }),
		metrics,
	});
	const connected = async () => /^tidings_broker_connected (\d)$/m.exec(await metrics.registry.metrics())?.[1];
	return { consumer, got, connected };
}

const message = (topic: string) => ({ topic, payload: Buffer.from('{}'), properties: {} });

test('a consumer comes up without its broker, is not well before it takes from every lane, and begins by itself', async () => {
	const broker = await makeBreakableBroker({ away: true });
	const { consumer, got, connected } = make(broker);
	await consumer.start();
	await expect(consumer.health()).rejects.toThrow('not consuming yet: mail-send-urgent, mail-send-normal, mail-send-bulk');
	expect(await connected()).toBe('0');
	await broker.comeBack();
	await eventually(() => consumer.health().then(() => true));
	expect(await connected()).toBe('1');
	await broker.publish([message('mail-send-bulk'), message('mail-send-urgent')]);
	await eventually(() => got.length === 2);
	expect(got.sort()).toEqual(['bulk mail-send-bulk', 'urgent mail-send-urgent']);
	expect(await broker.backlog('mail-send-bulk-DLQ', 'dead-letter')).toBe(0);
	consumer.quiet();
	await consumer.close();
	await broker.close();
});

test('a lane that cannot be subscribed to is tried again while the others are consumed, each once', async () => {
	const broker = await makeBreakableBroker();
	const subscribe = broker.subscribe.bind(broker);
	const asked: string[] = [];
	broker.subscribe = async (options) => {
		asked.push(options.topic);
		if (options.topic === 'mail-send-bulk' && asked.length <= 4) throw new Error('not this one yet');
		return await subscribe(options);
	};
	const { consumer } = make(broker);
	await consumer.start();
	await eventually(() => consumer.health().then(() => true));
	expect(asked.filter((topic) => topic === 'mail-send-urgent')).toHaveLength(1);
	expect(asked.filter((topic) => topic === 'mail-send-bulk').length).toBeGreaterThan(1);
	consumer.quiet();
	await consumer.close();
	await broker.close();
});

test('a consumer that is quiet takes nothing, also from a lane that it was just about to begin, and is not woken by a database that is back', async () => {
	const broker = await makeBreakableBroker();
	const { consumer, got } = make(broker);
	await consumer.start();
	consumer.pause(true);
	consumer.quiet();
	consumer.pause(false);
	await broker.ensureTopics([{ topic: 'mail-send-normal', subscription: 'witness' }]);
	await broker.publish([message('mail-send-normal')]);
	const witnessed = new Promise<void>((resolve) => {
		void broker.subscribe({ topic: 'mail-send-normal', subscription: 'witness', slots: 1, onMessage: () => resolve() });
	});
	await witnessed;
	expect(got).toEqual([]);
	await consumer.close();
	await broker.close();
});
