import { expect, test } from '@jest/globals';
import { type Broker, type IncomingMessage, originOf } from '../broker.js';
import { CONTRACT } from '../contract.js';
import { consume, eventually, numbered, publishAll, texts } from '../contract-kit.js';
import { openPulsarBroker } from './open-pulsar-broker.js';
import { fakePulsar } from './testing/fake-pulsar.js';
import { PLACE, withBroker } from './testing/with-broker.js';

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
for (const { name, run } of CONTRACT) {
	test(`pulsar, on a fake client: ${name}`, async () => {
		const fake = fakePulsar();
		const log = { error: () => undefined };
		const open = async (): Promise<Broker> =>
			openPulsarBroker({ url: 'pulsar://broker:6650', namespace: 'public/default', log }, () => fake.module, fake.admin);
		await expect(run(open)).resolves.toBeUndefined();
	}, 60_000);
}

test('a send that is never answered is away, and so is the broker until it answers again', () =>
	withBroker(
		async (broker, fake) => {
			const events: string[] = [];
			broker.on('away', () => events.push('away'));
			broker.on('back', () => events.push('back'));
			fake.silent = true;
			const results = await broker.publish(texts(PLACE.topic, 'one', 'two'));
			expect(results).toEqual([
				{ kind: 'away', reason: 'Failed to send message: TimeOut' },
				{ kind: 'away', reason: 'Failed to send message: TimeOut' },
			]);
			expect(broker.connected()).toBe(false);
			fake.silent = false;
			await eventually('the broker is back', () => broker.connected());
			expect(events).toEqual(['away', 'back']);
			await publishAll(broker, texts(PLACE.topic, 'three'));
		},
		{ sendTimeoutMs: 200 },
	));

test('a broker that is away at the start is found when it comes; until then publishing answers at once', async () => {
	const fake = fakePulsar();
	fake.down = true;
	await withBroker(
		async (broker, _, lines) => {
			const gone = new Promise<void>((resolve) => broker.on('away', resolve));
			const found = new Promise<void>((resolve) => broker.on('back', resolve));
			expect(broker.connected()).toBe(false);
			await gone;
			expect(await broker.publish(texts(PLACE.topic, 'one'))).toEqual([
				{ kind: 'away', reason: expect.stringMatching(/^Failed to get partitions: ConnectError/) },
			]);
			expect(fake.producers).toEqual([]);
			await expect(consume(broker, { ...PLACE, slots: 1 })).rejects.toThrow(/the broker is away: .*ConnectError/);
			fake.down = false;
			await found;
			await broker.ensureTopics([PLACE]);
			await publishAll(broker, texts(PLACE.topic, 'one'));
			expect(lines.filter(({ text }) => text.startsWith('the broker is away'))).toHaveLength(1);
		},
		{ fake },
	);
});

test('when every connection goes the broker is away; consumers go on when it is back', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 5 });
		await publishAll(broker, texts(PLACE.topic, 'before'));
		fake.down = true;
		await eventually('the broker is away', () => !broker.connected());
		fake.down = false;
		await eventually('the broker is back', () => broker.connected());
		await publishAll(broker, texts(PLACE.topic, 'after'));
		await eventually('both messages', () => got.length === 2);
	}));

test('a consumer that the client closed is made anew; what it held comes again and its late ack settles nothing', () =>
	withBroker(async (broker, fake) => {
		const held: IncomingMessage[] = [];
		const { got } = await consume(broker, { ...PLACE, slots: 2 }, (message) => held.push(message));
		await publishAll(broker, texts(PLACE.topic, 'one', 'two', 'three'));
		await eventually('two are held', () => held.length === 2);
		await fake.breakConsumers();
		for (const message of held.splice(0)) message.ack();
		await eventually('both again', () => held.length === 2);
		expect(got.length).toBe(4);
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(3);
		held[0]?.ack();
		await eventually('the third', () => got.length === 5);
	}));

test('what was held when the connection went comes again, and its late ack settles nothing', () =>
	withBroker(async (broker, fake) => {
		const held: IncomingMessage[] = [];
		await consume(broker, { ...PLACE, slots: 2 }, (message) => held.push(message));
		await publishAll(broker, texts(PLACE.topic, 'one', 'two', 'three'));
		await eventually('two are held', () => held.length === 2);
		fake.down = true;
		await eventually('the broker is away', () => !broker.connected());
		fake.down = false;
		await eventually('the broker is back', () => broker.connected());
		for (const message of held.splice(0)) message.ack();
		await eventually('two are held again', () => held.length === 2);
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(3);
	}));

test('a topic that was deleted is made again for its consumer', () =>
	withBroker(async (broker, fake) => {
		const { texts: received } = await consume(broker, { ...PLACE, slots: 2 });
		await fake.deleteTopic(PLACE.topic);
		await eventually('a topic again', async () => (await broker.publish(texts(PLACE.topic, 'anew')))[0]?.kind === 'confirmed');
		await eventually('its message', () => received().includes('anew'));
	}));

test('a consumer that is closed while it is made anew stays closed', () =>
	withBroker(async (broker, fake) => {
		const { subscription, got } = await consume(broker, { ...PLACE, slots: 2 });
		await fake.breakConsumers();
		await subscription.close();
		await publishAll(broker, texts(PLACE.topic, 'nobody'));
		const heir = await consume(broker, { ...PLACE, slots: 2 });
		await eventually('the message at another', () => heir.got.length === 1);
		expect(got).toEqual([]);
	}));

test('what comes during a pause is shown after it, within the slots', () =>
	withBroker(async (broker) => {
		const { subscription, texts: received } = await consume(broker, { ...PLACE, slots: 3 });
		subscription.pause();
		await publishAll(broker, texts(PLACE.topic, ...numbered(10)));
		subscription.resume();
		await eventually('every message', () => received().length === 10);
		expect(received().sort()).toEqual(numbered(10).sort());
	}));

test('many messages at once share one producer and fill its window, not more', () =>
	withBroker(async (broker, fake) => {
		await publishAll(broker, texts(PLACE.topic, ...numbered(2_000)));
		expect(fake.producers).toHaveLength(1);
		expect(fake.sends.most).toBe(500);
		expect(fake.producers[0]).toMatchObject({
			topic: 'persistent://public/default/mail-send-normal',
			batchingEnabled: false,
			blockIfQueueFull: false,
			hashingScheme: 'Murmur3_32Hash',
		});
		expect(fake.producers[0]?.maxPendingMessages).toBeGreaterThanOrEqual(500);
	}));

test('what the client says to be too big or invalid is refused, and the broker is still there', () =>
	withBroker(async (broker, fake) => {
		for (const name of ['MessageTooBig', 'InvalidMessage']) {
			fake.failSend = name;
			expect(await broker.publish(texts(PLACE.topic, 'one'))).toEqual([{ kind: 'refused', reason: `Failed to send message: ${name}` }]);
		}
		expect(broker.connected()).toBe(true);
		expect(fake.producers).toHaveLength(1);
	}));

test.each(['AlreadyClosed', 'ProducerQueueIsFull', 'ProducerFenced', 'SomethingNew'])(
	'after %s the message is away and the next one has a new producer',
	(name) =>
		withBroker(async (broker, fake) => {
			fake.failSend = name;
			expect(await broker.publish(texts(PLACE.topic, 'one'))).toEqual([{ kind: 'away', reason: `Failed to send message: ${name}` }]);
			fake.failSend = undefined;
			await publishAll(broker, texts(PLACE.topic, 'one'));
			expect(fake.producers).toHaveLength(2);
		}),
);

test('a producer that is not allowed is not asked for again with every message', () =>
	withBroker(async (broker, fake) => {
		fake.failCreate = 'AuthorizationError';
		const results = await broker.publish(texts(PLACE.topic, 'one', 'two'));
		results.push(...(await broker.publish(texts(PLACE.topic, 'three'))));
		expect(results.map((result) => result.kind === 'away' && result.reason)).toEqual(
			Array.from({ length: 3 }, () => 'Failed to create producer: AuthorizationError'),
		);
		expect(fake.producers).toHaveLength(1);
		expect(broker.connected()).toBe(true);
		fake.failCreate = undefined;
		await eventually('it is allowed', async () => (await broker.publish(texts(PLACE.topic, 'four')))[0]?.kind === 'confirmed');
	}));

test('poison waits while its dead-letter topic is missing, then goes there with its origin', () =>
	withBroker(async (broker) => {
		const last = { topic: `${PLACE.topic}-DLQ`, subscription: 'dead-letter' };
		const got: IncomingMessage[] = [];
		const onMessage = (message: IncomingMessage): void => {
			got.push(message);
			message.nack(0);
		};
		await broker.subscribe({ ...PLACE, slots: 1, maxRedeliveries: 1, onMessage });
		await publishAll(broker, [{ topic: PLACE.topic, payload: Buffer.from('poison'), properties: { name: 'Zoë' } }]);
		await eventually('it keeps coming', () => got.length === 4);
		await broker.ensureTopics([last]);
		const letters = await consume(broker, { ...last, slots: 1 });
		await eventually('the letter', () => letters.got.length === 1);
		expect(letters.texts()).toEqual(['poison']);
		const [letter] = letters.got;
		expect(letter?.properties['name']).toBe('Zoë');
		expect(letter && originOf(letter)).toEqual({ topic: PLACE.topic, messageId: got[0]?.id });
		await eventually('nothing is left', async () => (await broker.backlog(PLACE.topic, PLACE.subscription)) === 0);
	}));

test('a closed broker leaves no timer behind, also after an outage and with messages held back', async () => {
	const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
	const before = timers();
	await withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 2 }, (message) => message.nack(3_600_000));
		await publishAll(broker, texts(PLACE.topic, 'one', 'two'));
		await eventually('both nacked', () => got.length === 2);
		fake.down = true;
		await eventually('the broker is away', () => !broker.connected());
		expect(timers()).toBeGreaterThan(before);
	});
	await eventually('no timer', () => timers() <= before);
});

test('what a replaced consumer has shown takes its slots until it is settled', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 2 }, () => undefined);
		await publishAll(broker, texts(PLACE.topic, 'one', 'two', 'three'));
		await eventually('two are held', () => got.length === 2);
		await fake.breakConsumers();
		got[0]?.ack();
		await eventually('one of them again', () => got.length === 3);
		got[1]?.nack(0);
		await eventually('the other again', () => got.length === 4);
		expect(new Set(got.map(({ id }) => id)).size).toBe(2);
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(3);
	}));

test('a failure of what was asked before the broker came back does not make it away again', () =>
	withBroker(
		async (broker, fake) => {
			const events: string[] = [];
			broker.on('away', () => events.push('away'));
			await publishAll(broker, texts(PLACE.topic, 'connects'));
			fake.silent = true;
			const first = broker.publish(texts(PLACE.topic, 'one'));
			await eventually('the first under way', () => fake.sends.now === 1);
			const later = new Promise<void>((resolve) => broker.on('back', resolve));
			fake.down = true;
			await eventually('the broker is away', () => !broker.connected());
			fake.down = false;
			await later;
			expect((await first)[0]?.kind).toBe('away');
			expect(broker.connected()).toBe(true);
			expect(events).toEqual(['away']);
		},
		{ sendTimeoutMs: 3_000 },
	));
