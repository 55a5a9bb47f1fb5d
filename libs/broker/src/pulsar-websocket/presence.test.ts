import { expect, test } from '@jest/globals';
import { consume, eventually, texts } from '../contract-kit.js';
import { startFakePulsar } from '../testing/fake-pulsar.js';
import { openWebSocketBroker } from './open-websocket-broker.js';

const PLACE = { topic: 'mail-send-normal', subscription: 'mail-sender' };
const namespace = 'public/default';

/** Opens a broker whose events and log lines are kept. */
function open(url: string, token?: string) {
	const events: string[] = [];
	const lines: string[] = [];
	const log = {
		error: ({ err }: { err: unknown }, text: string) => void lines.push(`error ${text}: ${String(err)}`),
		warn: ({ err }: { err: unknown }, text: string) => void lines.push(`warn ${text}: ${String(err)}`),
	};
	const broker = openWebSocketBroker({ url, namespace, log, token });
	for (const event of ['away', 'back', 'lost'] as const) broker.on(event, () => events.push(event));
	return { broker, events, lines };
}

test('a broker is connected only after it has answered', async () => {
	const fake = await startFakePulsar();
	const { broker, events } = open(fake.url);
	expect(broker.connected()).toBe(false);
	await eventually('the answer', () => broker.connected());
	expect(events).toEqual([]);
	await broker.close();
	expect(broker.connected()).toBe(false);
	await fake.stop();
});

test('a broker that goes and comes is away once and back once, publishing answers at once meanwhile, and consumers go on by themselves', async () => {
	const fake = await startFakePulsar();
	const { broker, events, lines } = open(fake.url);
	await consume(broker, { ...PLACE, slots: 1 });
	await broker.publish(texts(PLACE.topic, 'one'));
	await fake.stop();
	await eventually('away', () => events.length > 0);
	expect(broker.connected()).toBe(false);
	expect(await broker.publish(texts(PLACE.topic, 'two'))).toEqual([{ kind: 'away', reason: expect.stringContaining('cannot be reached') }]);
	await expect(consume(broker, { ...PLACE, slots: 1 })).rejects.toThrow(/cannot be reached/);

	const again = await startFakePulsar({ port: Number(new URL(fake.url).port) });
	await again.socket('consumer');
	await eventually('back', () => broker.connected());
	expect(await broker.publish(texts(PLACE.topic, 'three'))).toEqual([{ kind: 'confirmed' }]);
	expect(events).toEqual(['away', 'back']);
	expect(lines).toEqual([expect.stringMatching(/^warn the broker is away/)]);
	await broker.close();
	await again.stop();
});

test('a token that is not accepted means not connected, told once and without the token', async () => {
	const fake = await startFakePulsar();
	fake.admin = () => ({ status: 401 });
	fake.upgrade = () => 401;
	const { broker, events, lines } = open(fake.url, 'marker-secret');
	await eventually('several attempts', () => fake.requests.length > 3);
	expect(broker.connected()).toBe(false);
	expect(events).toEqual(['away']);
	expect(await broker.publish(texts(PLACE.topic, 'one'))).toEqual([{ kind: 'away', reason: expect.stringContaining('401') }]);
	expect(lines).toEqual([expect.stringMatching(/does not accept the token/)]);
	expect(lines.join()).not.toContain('marker-secret');
	await broker.close();
	await fake.stop();
});

test('a closed broker leaves no timer and no socket behind, whatever state it was in', async () => {
	const before = waits();
	const fake = await startFakePulsar();
	const { broker } = open(fake.url);
	const { got } = await consume(broker, { ...PLACE, slots: 2 }, (message) => message.nack(60_000));
	const socket = await fake.socket('consumer');
	socket.send({ messageId: Buffer.from([0x08, 1, 0x10, 1]).toString('base64'), payload: '', properties: {} });
	await eventually('the message', () => got.length === 1);
	fake.onFrame = () => undefined;
	const publishing = broker.publish(texts(PLACE.topic, 'unanswered'));
	await fake.socket('producer');
	await broker.close();
	await publishing;
	const gone = open('ws://127.0.0.1:1');
	await eventually('away', () => gone.events.length > 0);
	await gone.broker.close();
	await fake.stop();
	await eventually('nothing to wait for', () => waits() <= before);
});

test('what cannot be an address, and a secret in it, is refused without being repeated', () => {
	for (const url of ['ws://user:marker-secret@host', 'ws://host/?token=marker-secret', 'ws://'])
		expect(() => openWebSocketBroker({ url, namespace })).toThrow(/^the broker URL must (?!.*marker-secret)/);
	expect(() => openWebSocketBroker({ url: 'ws://host', namespace: 'default' })).toThrow(/tenant\/namespace/);
	expect(() => openWebSocketBroker({ url: 'ws://host', namespace, adminUrl: 'ws://host' })).toThrow(/admin API/);
});

/** How many timers the process waits for, and how many connections. */
function waits(): number {
	return process.getActiveResourcesInfo().filter((kind) => ['Timeout', 'Immediate', 'TCPSocketWrap', 'TCPServerWrap'].includes(kind))
		.length;
}
