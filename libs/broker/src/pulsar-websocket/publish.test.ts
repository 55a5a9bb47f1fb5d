import { expect, test } from '@jest/globals';
import type { Broker } from '../broker.js';
import { eventually, numbered, texts } from '../contract-kit.js';
import { type FakePulsar, startFakePulsar } from '../testing/fake-pulsar.js';
import { openWebSocketBroker, type WebSocketOptions } from './open-websocket-broker.js';

const TOPIC = 'mail-send-normal';
const CONFIRMED = { kind: 'confirmed' };

async function withBroker(
	act: (broker: Broker, fake: FakePulsar) => Promise<void>,
	options: Partial<WebSocketOptions> = {},
): Promise<void> {
	const fake = await startFakePulsar();
	const broker = openWebSocketBroker({ url: fake.url, namespace: 'public/default', log: { error: () => undefined }, ...options });
	try {
		await act(broker, fake);
	} finally {
		await broker.close();
		await fake.stop();
	}
}

const away = (reason: RegExp) => ({ kind: 'away', reason: expect.stringMatching(reason) });

test('one connection per topic is made by the first message and kept; the token is in its header alone', () =>
	withBroker(
		async (broker, fake) => {
			await Promise.all([broker.publish(texts(TOPIC, 'one', 'two')), broker.publish(texts(TOPIC, 'three'))]);
			expect(await broker.publish(texts(TOPIC, 'four'))).toEqual([CONFIRMED]);
			expect(fake.sockets.map(({ path }) => path)).toEqual([
				expect.stringContaining(`/ws/v2/producer/persistent/public/default/${TOPIC}?`),
			]);
			const upgrade = fake.requests.find(({ path }) => path.startsWith('/ws/'));
			expect(upgrade?.authorization).toBe('Bearer marker-secret');
			expect(fake.requests.map(({ path }) => path).join()).not.toContain('marker-secret');
		},
		{ token: 'marker-secret' },
	));

test('at most 500 messages are unanswered at once, and answers in any order find their message', () =>
	withBroker(async (broker, fake) => {
		const open: string[] = [];
		fake.onFrame = (_, { context }) => void open.push(context ?? '');
		const publishing = broker.publish(texts(TOPIC, ...numbered(1_200)));
		const socket = await fake.socket(TOPIC);
		let answered = 0;
		while (answered < 1_200) {
			const expected = Math.min(500, 1_200 - answered);
			await eventually('a full window', () => open.length === expected);
			expect(socket.frames.length).toBe(answered + expected);
			for (const context of open.splice(0).reverse()) {
				answered++;
				socket.send(
					context === '7'
						? { result: 'send-error:8', errorMsg: 'X$InvalidMessageException: it exceeds 5 bytes', context }
						: { result: 'ok', messageId: 'CB4QADAA', context },
				);
			}
		}
		const results = await publishing;
		expect(results[6]).toEqual({ kind: 'refused', reason: expect.stringContaining('exceeds 5 bytes') });
		expect(results.filter(({ kind }) => kind === 'confirmed').length).toBe(1_199);
	}));

test('a broker that stops answering is given up after the time-out, everything unanswered is away, and the next message goes another way', () =>
	withBroker(
		async (broker, fake) => {
			fake.onFrame = (socket, { context, payload }) => {
				if (payload === Buffer.from('heard').toString('base64')) socket.send({ result: 'ok', context });
			};
			expect(await broker.publish(texts(TOPIC, 'heard'))).toEqual([CONFIRMED]);
			const [socket] = fake.sockets;
			expect(await broker.publish(texts(TOPIC, 'one', 'two'))).toEqual([away(/did not answer within 200 ms/), away(/200 ms/)]);
			await eventually('the end of the connection', () => socket?.open() === false);
			await eventually('the broker to be found again', () => broker.connected());
			expect(await broker.publish(texts(TOPIC, 'heard'))).toEqual([CONFIRMED]);
			expect(fake.sockets.length).toBe(2);
		},
		{ sendTimeoutMs: 200 },
	));

test('a connection that ends answers away what it had not answered', () =>
	withBroker(async (broker, fake) => {
		fake.onFrame = (socket) => socket.cut();
		expect(await broker.publish(texts(TOPIC, 'one', 'two'))).toEqual([away(/ended \(1006\)/), away(/1006/)]);
		fake.onFrame = (socket, { context }) => socket.send({ result: 'ok', context });
		expect(await broker.publish(texts(TOPIC, 'three'))).toEqual([CONFIRMED]);
	}));

test('a producer that is gone since its topic was deleted is asked for anew, and that tells', () =>
	withBroker(async (broker, fake) => {
		const gone = 'X$AlreadyClosedException: Producer already closed';
		fake.onFrame = (socket, { context }) =>
			socket.send(fake.sockets.length === 1 ? { result: 'send-error:8', errorMsg: gone, context } : { result: 'ok', context });
		expect(await broker.publish(texts(TOPIC, 'one', 'two'))).toEqual([CONFIRMED, CONFIRMED]);
		expect(fake.sockets.map(({ frames }) => frames.length)).toEqual([2, 2]);

		fake.onFrame = (socket, { context }) => socket.send({ result: 'send-error:8', errorMsg: gone, context });
		fake.upgrade = () => 404;
		expect(await broker.publish(texts(TOPIC, 'three'))).toEqual([{ kind: 'no-topic' }]);
		fake.upgrade = () => 101;
		expect(await broker.publish(texts(TOPIC, 'four'))).toEqual([away(/Producer already closed/)]);
	}));

test('a connection that began to end and does not is given up for another', () =>
	withBroker(async (broker, fake) => {
		await broker.publish(texts(TOPIC, 'one'));
		const socket = await fake.socket(TOPIC);
		socket.garble();
		let answered: unknown;
		void broker.publish(texts(TOPIC, 'two')).then((results) => {
			answered = results;
		});
		await eventually('an answer', () => {
			void broker.publish(texts(TOPIC, 'more'));
			return answered !== undefined;
		});
		expect(answered).toEqual([away(/ended/)]);
		expect(broker.connected()).toBe(true);
		expect(await broker.publish(texts(TOPIC, 'three'))).toEqual([CONFIRMED]);
	}));

test('a topic that does not exist says so, and the broker stays connected', () =>
	withBroker(async (broker, fake) => {
		await eventually('the connection', () => broker.connected());
		fake.upgrade = () => 404;
		expect(await broker.publish(texts(TOPIC, 'one'))).toEqual([{ kind: 'no-topic' }]);
		expect(broker.connected()).toBe(true);
		fake.upgrade = () => 101;
		expect(await broker.publish(texts(TOPIC, 'two'))).toEqual([CONFIRMED]);
	}));

test('a broker that answers 500 is away for that topic, and not asked again at once', () =>
	withBroker(async (broker, fake) => {
		await eventually('the connection', () => broker.connected());
		fake.upgrade = (path) => (path.includes(TOPIC) ? 500 : 101);
		expect(await broker.publish(texts(TOPIC, 'one'))).toEqual([away(/answered 500/)]);
		const before = fake.requests.length;
		expect(await broker.publish(texts(TOPIC, 'two'))).toEqual([away(/answered 500/)]);
		expect(fake.requests.length).toBe(before);
		expect(broker.connected()).toBe(true);
		expect(await broker.publish(texts('mail-send-bulk', 'three'))).toEqual([CONFIRMED]);
		fake.upgrade = () => 101;
		await eventually('the topic', async () => (await broker.publish(texts(TOPIC, 'four')))[0]?.kind === 'confirmed');
	}));

test('when a frame is too large for the broker only the largest message is refused', () =>
	withBroker(async (broker, fake) => {
		fake.onFrame = (socket, { properties = {} }) => {
			if ('large' in properties) socket.close(1009);
		};
		const [one, longer, two] = texts(TOPIC, 'one', 'x'.repeat(1_000), 'two');
		const large = { topic: TOPIC, payload: Buffer.from('short'), properties: { large: 'x'.repeat(2_000) } };
		const results = await broker.publish([one, large, longer, two].filter((message) => message !== undefined));
		expect(results).toEqual([
			away(/1009/),
			{ kind: 'refused', reason: expect.stringContaining('webSocketMaxTextFrameSize') },
			away(/1009/),
			away(/1009/),
		]);
	}));

test('an answer that nobody can place ends the connection, so that nobody waits for it', () =>
	withBroker(async (broker, fake) => {
		fake.onFrame = (socket) => socket.send({ result: 'send-error:3', errorMsg: 'unreadable' });
		expect(await broker.publish(texts(TOPIC, 'alone'))).toEqual([{ kind: 'refused', reason: expect.stringContaining('unreadable') }]);
		fake.onFrame = (socket, { context }) => {
			if (context !== '2') socket.send({ result: 'send-error:3' });
		};
		expect(await broker.publish(texts(TOPIC, 'one', 'two'))).toEqual([away(/ended/), away(/ended/)]);
	}));

test('closing answers away what is unanswered, and what comes later', () =>
	withBroker(async (broker, fake) => {
		fake.onFrame = () => undefined;
		const publishing = broker.publish(texts(TOPIC, ...numbered(600)));
		const socket = await fake.socket(TOPIC);
		await eventually('a full window', () => socket.frames.length === 500);
		await Promise.all([broker.close(), broker.close()]);
		expect(new Set((await publishing).map((result) => JSON.stringify(result)))).toEqual(
			new Set(['{"kind":"away","reason":"the broker is closed"}']),
		);
		expect(await broker.publish(texts(TOPIC, 'late'))).toEqual([away(/closed/)]);
	}));
