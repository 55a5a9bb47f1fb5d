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
	await consumer.stop();
	await broker.close();
});
