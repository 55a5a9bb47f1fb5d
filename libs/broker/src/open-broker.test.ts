import { expect, test } from '@jest/globals';
import { openBroker } from './open-broker.js';

const namespace = 'public/default';

test('embedded: opens a broker that is connected at once', async () => {
	const broker = await openBroker({ url: 'embedded:', namespace });
	expect(broker.connected()).toBe(true);
	await broker.close();
});

test.each(['ws://127.0.0.1:1', 'wss://127.0.0.1:1'])('%s opens without waiting for a connection', async (url) => {
	const broker = await openBroker({ url, namespace, log: { error: () => undefined } });
	expect(broker.connected()).toBe(false);
	await broker.close();
});

test('a scheme without a driver is refused with the schemes that there are', async () => {
	await expect(openBroker({ url: 'kafka://127.0.0.1:9092', namespace })).rejects.toThrow(/kafka:.*embedded:/);
});

test('a text without a scheme is refused with the schemes that there are', async () => {
	await expect(openBroker({ url: '127.0.0.1', namespace })).rejects.toThrow(/no scheme.*embedded:/);
	await expect(openBroker({ url: '', namespace })).rejects.toThrow(/no scheme.*embedded:/);
});

test('an embedded URL that names a place is refused, for nothing would be there', async () => {
	await expect(openBroker({ url: 'embedded://queue-host', namespace })).rejects.toThrow(/nothing after the colon/);
});

test('a refusal repeats no secret of the URL', async () => {
	await expect(openBroker({ url: 'ws://user:marker-secret@host', namespace })).rejects.toThrow(/^(?!.*marker-secret)/);
	await expect(openBroker({ url: 'kafka://user:marker-secret@host', namespace })).rejects.toThrow(/^(?!.*marker-secret)/);
});
