import { expect, test } from '@jest/globals';
import { monotonic } from '@tidings/model';
import type { Broker, IncomingMessage } from '../broker.js';
import { consume, eventually, numbered } from '../contract-kit.js';
import { type FakePulsar, type FakeSocket, startFakePulsar } from '../testing/fake-pulsar.js';
import { openWebSocketBroker, type WebSocketOptions } from './open-websocket-broker.js';

const PLACE = { topic: 'mail-send-normal', subscription: 'mail-sender' };

type Logged = { text: string; err: unknown };

async function withBroker(
	act: (broker: Broker, fake: FakePulsar, logged: Logged[]) => Promise<void>,
	options: Partial<WebSocketOptions> & { autoPong?: boolean } = {},
): Promise<void> {
	const fake = await startFakePulsar({ autoPong: options.autoPong ?? true });
	const logged: Logged[] = [];
	const log = { error: ({ err }: { err: unknown }, text: string) => void logged.push({ text, err }) };
	const broker = openWebSocketBroker({ url: fake.url, namespace: 'public/default', log, ...options });
	try {
		await act(broker, fake, logged);
	} finally {
		await broker.close();
		await fake.stop();
	}
}

/** The id of message `n`, as the WebSocket API writes it. */
const rawId = (n: number): string => Buffer.from([0x08, 1, 0x10, n]).toString('base64');

function deliver(socket: FakeSocket, n: number, redeliveryCount = 0): void {
	const payload = Buffer.from(`message ${n}`).toString('base64');
	socket.send({ messageId: rawId(n), payload, properties: { n: String(n) }, publishTime: '2030-01-01T00:00:00Z', redeliveryCount });
}

const permits = ({ frames }: FakeSocket): number => frames.reduce((sum, { permitMessages = 0 }) => sum + permitMessages, 0);
const acks = ({ frames }: FakeSocket) => frames.filter(({ type, messageId }) => type === undefined && messageId !== undefined);
const nacks = ({ frames }: FakeSocket) => frames.filter(({ type }) => type === 'negativeAcknowledge');
const hold = (): void => undefined;

test('as many permits as slots are given, and one more for each message that is settled, never for one that is settled twice', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 3 }, hold);
		const socket = await fake.socket('consumer');
		await eventually('the first permits', () => permits(socket) === 3);
		for (const n of [1, 2, 3]) deliver(socket, n);
		await eventually('three messages', () => got.length === 3);
		expect(permits(socket)).toBe(3);
		got[0]?.ack();
		got[0]?.nack(0);
		got[1]?.nack(60_000);
		got[1]?.ack();
		await eventually('two more permits', () => permits(socket) === 5);
		got[2]?.nack(0);
		await eventually('the nack', () => nacks(socket).length === 1);
		expect(acks(socket)).toEqual([{ messageId: rawId(1) }]);
		expect(nacks(socket)).toEqual([{ type: 'negativeAcknowledge', messageId: rawId(3) }]);
		await eventually('the last permit', () => permits(socket) === 6);
		expect(got[0]).toMatchObject({ id: '1:1:-1', topic: PLACE.topic, properties: { n: '1' }, redeliveryCount: 0 });
	}));

test('a nack is held back for its delay while its slot is free', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 1 }, hold);
		const socket = await fake.socket('consumer');
		deliver(socket, 1);
		await eventually('the message', () => got.length === 1);
		const nackedAt = monotonic();
		got[0]?.nack(150);
		await eventually('the permit', () => permits(socket) === 2);
		expect(nacks(socket)).toEqual([]);
		await eventually('the nack', () => nacks(socket).length === 1);
		expect(monotonic() - nackedAt).toBeGreaterThanOrEqual(150);
	}));

test('a paused consumer hands out nothing, not even what was permitted before, and goes on where it was', () =>
	withBroker(async (broker, fake) => {
		const { got, subscription } = await consume(broker, { ...PLACE, slots: 2 }, hold);
		const socket = await fake.socket('consumer');
		deliver(socket, 1);
		await eventually('the first message', () => got.length === 1);
		subscription.pause();
		deliver(socket, 2);
		got[0]?.ack();
		await eventually('the ack', () => acks(socket).length === 1);
		expect([got.length, permits(socket)]).toEqual([1, 2]);
		subscription.resume();
		await eventually('the second message', () => got.length === 2);
		await eventually('the permit', () => permits(socket) === 3);
	}));

test('after a cut the consumer connects again; what it held comes again, and the old ids are dropped', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 4 }, hold);
		const first = await fake.socket('consumer');
		for (const n of [1, 2]) deliver(first, n);
		await eventually('two messages', () => got.length === 2);
		got[0]?.nack(100);
		first.cut();
		const second = await fake.socket('consumer', 1);
		// The handler still works on the second message: it takes one of the slots until it is done.
		await eventually('permits', () => permits(second) === 3);
		got[1]?.ack();
		await eventually('the permit of the old message', () => permits(second) === 4);
		for (const n of [1, 2]) deliver(second, n);
		await eventually('both again', () => got.length === 4);
		got[2]?.ack();
		await eventually('the new ack', () => acks(second).length === 1);
		expect(acks(second)).toEqual([{ messageId: rawId(1) }]);
		expect([nacks(second), acks(first)]).toEqual([[], []]);
		expect(got.map(({ id }) => id)).toEqual(['1:1:-1', '1:2:-1', '1:1:-1', '1:2:-1']);
	}));

test('handlers that are stuck since the cut leave the new connection at least one slot', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 2 }, (message) => (got.length > 2 ? message.ack() : undefined));
		const first = await fake.socket('consumer');
		for (const n of [1, 2]) deliver(first, n);
		await eventually('both', () => got.length === 2);
		first.cut();
		const second = await fake.socket('consumer', 1);
		for (const n of [1, 2, 3]) {
			await eventually('a permit', () => permits(second) === n);
			deliver(second, n);
		}
		await eventually('every message', () => acks(second).length === 3);
	}));

test('a consumer that the broker does not see any more connects again, and makes its topic anew when it was deleted', () =>
	withBroker(
		async (broker, fake) => {
			await consume(broker, { ...PLACE, slots: 1 }, hold);
			const first = await fake.socket('consumer');
			fake.upgrade = () => (fake.requests.some(({ method }) => method === 'PUT') ? 101 : 404);
			fake.admin = (method, path) => {
				if (method === 'PUT' || path.includes('/brokers/')) return { status: 200 };
				const name = new URL(fake.sockets.at(-1)?.path ?? '', 'http://host').searchParams.get('consumerName');
				const consumers = fake.sockets.length === 1 ? [] : [{ consumerName: name }];
				return { status: 200, body: JSON.stringify({ subscriptions: { [PLACE.subscription]: { msgBacklog: 0, consumers } } }) };
			};
			const second = await fake.socket('consumer', 1);
			expect(first.open()).toBe(false);
			const puts = fake.requests.filter(({ method }) => method === 'PUT').map(({ path }) => path);
			expect(puts).toEqual(['/admin/v2/persistent/public/default/mail-send-normal/subscription/mail-sender']);
			const looks = (): number => fake.requests.filter(({ path }) => path.includes('/stats')).length;
			const before = looks();
			await eventually('two more looks', () => looks() >= before + 2);
			expect([second.open(), fake.sockets.length]).toEqual([true, 2]);
		},
		{ checkMs: 30 },
	));

test('a connection that is open but dead is noticed by its silence', () =>
	withBroker(
		async (broker, fake) => {
			await consume(broker, { ...PLACE, slots: 1 }, hold);
			const first = await fake.socket('consumer');
			await fake.socket('consumer', 1);
			expect(first.open()).toBe(false);
		},
		{ pingMs: 50, autoPong: false },
	));

test('a connection whose broker answers pings stays', () =>
	withBroker(
		async (broker, fake) => {
			const { got } = await consume(broker, { ...PLACE, slots: 1 });
			const socket = await fake.socket('consumer');
			let pings = 0;
			socket.onPing(() => pings++);
			await eventually('several pings', () => pings > 2);
			deliver(socket, 1);
			await eventually('a message', () => got.length === 1);
			expect(fake.sockets.length).toBe(1);
		},
		{ pingMs: 300 },
	));

test('a message that comes too often goes to the dead-letter topic with its origin and is acked, or comes again when that cannot be', () =>
	withBroker(async (broker, fake) => {
		const { got } = await consume(broker, { ...PLACE, slots: 2, maxRedeliveries: 2 }, (message) => message.nack(0));
		const socket = await fake.socket('consumer');
		fake.upgrade = () => 404;
		deliver(socket, 1, 1);
		deliver(socket, 2, 2);
		await eventually('both nacks', () => nacks(socket).length === 2);
		fake.upgrade = () => 101;
		deliver(socket, 2, 3);
		await eventually('the ack', () => acks(socket).length === 1);
		expect(got.length).toBe(3);
		const dead = await fake.socket('mail-send-normal-DLQ');
		expect(dead.frames).toEqual([
			expect.objectContaining({
				payload: Buffer.from('message 2').toString('base64'),
				properties: {
					n: '2',
					REAL_TOPIC: 'persistent://public/default/mail-send-normal',
					REAL_SUBSCRIPTION: 'mail-sender',
					ORIGIN_MESSAGE_ID: '1:2:-1',
				},
			}),
		]);
	}));

test('a handler that throws is reported and its message nacked; what cannot be read ends the connection', () =>
	withBroker(async (broker, fake, logged) => {
		const { got } = await consume(broker, { ...PLACE, slots: 2 }, () => {
			throw new Error('thrown on purpose');
		});
		const socket = await fake.socket('consumer');
		deliver(socket, 1);
		await eventually('the permit', () => permits(socket) === 3);
		expect(logged).toEqual([{ text: 'a handler of the broker threw', err: new Error('thrown on purpose') }]);
		await eventually('the nack', () => nacks(socket).length === 1);
		socket.send({ messageId: 'AAAA' });
		await fake.socket('consumer', 1);
		expect(got.length).toBe(1);
		expect(logged[1]?.text).toMatch(/cannot be read/);
	}));

test.each([
	[404, /no topic mail-send-normal/],
	[403, /does not allow this token.*\(403\)/],
	[401, /does not accept the token \(401\)/],
	[500, /answered 500/],
])('subscribing rejects when the broker answers %i, and leaves nothing behind', (status, text) =>
	withBroker(async (broker, fake) => {
		await eventually('the connection', () => broker.connected());
		fake.upgrade = () => status;
		await expect(consume(broker, { ...PLACE, slots: 1 })).rejects.toThrow(text);
		expect(broker.connected()).toBe(status !== 401);
		expect(fake.requests.filter(({ path }) => path.startsWith('/ws/')).length).toBe(1);
	}),
);

test.each([0, -1, 1.5, Number.NaN])('a consumer with %p slots is refused', (slots) =>
	withBroker(async (broker) => {
		await expect(broker.subscribe({ ...PLACE, slots, onMessage: hold })).rejects.toThrow(RangeError);
	}),
);

test('what a closed subscription held can be settled without effect, and it does not come back', () =>
	withBroker(async (broker, fake) => {
		const held: IncomingMessage[] = [];
		const { subscription } = await consume(broker, { ...PLACE, slots: 5 }, (message) => held.push(message));
		const socket = await fake.socket('consumer');
		for (const n of numbered(3).keys()) deliver(socket, n);
		await eventually('three', () => held.length === 3);
		held[0]?.nack(60_000);
		await Promise.all([subscription.close(), subscription.close()]);
		for (const message of held) message.ack();
		expect([acks(socket), nacks(socket)]).toEqual([[], []]);
		await eventually('the end of the connection', () => !socket.open());
		expect(fake.sockets.length).toBe(1);
	}));
