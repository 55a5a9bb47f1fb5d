import { expect, test } from '@jest/globals';
import { type BreakableBroker, makeBreakableBroker } from '../../../test/harness/breakable-broker.js';
import { consumeAll } from './consume-all.js';
import { eventually, publishAll, texts } from './contract-kit.js';

const TOPICS = ['mail-send-urgent', 'mail-send-normal', 'mail-send-bulk'];

function make(broker: BreakableBroker) {
	const got: string[] = [];
	const connected: boolean[] = [];
	const lines: object[] = [];
	const write =
		(level: string) =>
		(fields: object, text: string): void =>
			void lines.push({ level, ...fields, text });
	const consumer = consumeAll({
		broker,
		name: 'subscriptions',
		wanted: TOPICS.map((topic) => ({
			topic,
			subscription: 'mail-sender',
			slots: 10,
			onMessage: (message) => {
				got.push(message.topic);
				message.ack();
			},
		})),
		besides: [{ topic: 'mail-send-bulk-DLQ', subscription: 'dead-letter' }],
		log: { info: write('info'), warn: write('warn') },
		onConnected: (now) => connected.push(now),
	});
	const isWell = (): Promise<boolean> =>
		consumer.health().then(
			() => true,
			() => false,
		);
	return { consumer, got, connected, lines, isWell };
}

test('a consumer comes up without its broker, is not well before it takes from every place, and begins by itself', async () => {
	const broker = await makeBreakableBroker({ away: true });
	const { consumer, got, connected, lines, isWell } = make(broker);
	await consumer.start();
	await expect(consumer.health()).rejects.toThrow('not consuming yet: mail-send-urgent, mail-send-normal, mail-send-bulk');
	await eventually('a line', () => lines.length > 0);
	expect(connected).not.toContain(true);
	await broker.comeBack();
	await eventually('every place', isWell);
	await publishAll(broker, [...texts('mail-send-bulk', '{}'), ...texts('mail-send-urgent', '{}')]);
	await eventually('both messages', () => got.length === 2);
	expect(await broker.backlog('mail-send-bulk-DLQ', 'dead-letter')).toBe(0);
	await eventually('the end of the attempt', () => lines.length === 2);
	expect(connected.at(-1)).toBe(true);
	expect(lines).toEqual([
		expect.objectContaining({ level: 'warn', poll: 'subscriptions', failures: 1, text: 'poll failed and will be repeated' }),
		expect.objectContaining({ level: 'info', poll: 'subscriptions', text: 'poll works again' }),
	]);
	await consumer.stop();
	await broker.close();
});

test('a place that cannot be subscribed to is tried again while the others are consumed, each once', async () => {
	const broker = await makeBreakableBroker();
	const subscribe = broker.subscribe.bind(broker);
	const asked: string[] = [];
	broker.subscribe = async (options) => {
		asked.push(options.topic);
		if (options.topic === 'mail-send-bulk' && asked.length <= 4) throw new Error('not this one yet');
		return await subscribe(options);
	};
	const { consumer, isWell } = make(broker);
	await consumer.start();
	await eventually('every place', isWell);
	expect(asked.filter((topic) => topic === 'mail-send-urgent')).toHaveLength(1);
	expect(asked.filter((topic) => topic === 'mail-send-bulk').length).toBeGreaterThan(1);
	await consumer.stop();
	await broker.close();
});

test('who may not make topics consumes those that are there, and tries to make them again when the broker is back', async () => {
	const broker = await makeBreakableBroker();
	await broker.ensureTopics(TOPICS.map((topic) => ({ topic, subscription: 'mail-sender' })));
	const ensureTopics = broker.ensureTopics.bind(broker);
	let allowed = false;
	let made = 0;
	broker.ensureTopics = async (places) => {
		if (!allowed) throw new Error('not allowed');
		made++;
		await ensureTopics(places);
	};
	const { consumer, connected, isWell } = make(broker);
	await consumer.start();
	await eventually('every place', isWell);
	allowed = true;
	await eventually('the topics', () => made === 1);
	broker.leave();
	await eventually('the outage', () => connected.at(-1) === false);
	await broker.comeBack();
	await eventually('the topics again', () => made === 2);
	expect(connected.at(-1)).toBe(true);
	await consumer.stop();
	await broker.close();
});

test('a consumer that is quiet takes nothing, also from a place that it was just about to begin, and is not woken by the end of a pause', async () => {
	const broker = await makeBreakableBroker();
	const { consumer, got } = make(broker);
	await consumer.start();
	consumer.pause(true);
	consumer.quiet();
	consumer.pause(false);
	await broker.ensureTopics([{ topic: 'mail-send-normal', subscription: 'witness' }]);
	await publishAll(broker, texts('mail-send-normal', '{}'));
	const witnessed = new Promise<void>((resolve) => {
		void broker.subscribe({ topic: 'mail-send-normal', subscription: 'witness', slots: 1, onMessage: () => resolve() });
	});
	await witnessed;
	expect(got).toEqual([]);
	await consumer.stop();
	await broker.close();
});

test('a consumer that stops while it waits for its next attempt leaves no timer', async () => {
	const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
	const broker = await makeBreakableBroker({ away: true });
	const { consumer, lines } = make(broker);
	await consumer.start();
	await eventually('a failed attempt', () => lines.length > 0);
	const before = timers();
	await consumer.stop();
	expect(timers()).toBe(before - 1);
	await broker.close();
});
