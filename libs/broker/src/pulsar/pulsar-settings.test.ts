import { expect, test } from '@jest/globals';
import type { Broker } from '../broker.js';
import { consume, eventually, publishAll, texts } from '../contract-kit.js';
import { openPulsarBroker } from './open-pulsar-broker.js';
import { fakePulsar } from './testing/fake-pulsar.js';
import { PLACE, withBroker } from './testing/with-broker.js';

const SECRET = 'eyJhbGciOiJIUzI1NiJ9.marker';

test('the client gets the token, checks host names, and consumers share from the beginning', () =>
	withBroker(
		async (broker, fake) => {
			await consume(broker, { ...PLACE, slots: 7 });
			expect(fake.clients).toEqual([expect.objectContaining({ serviceUrl: 'pulsar+ssl://broker:6651', tlsValidateHostname: true })]);
			expect(fake.clients[0]?.authentication).toMatchObject({ token: SECRET });
			expect(fake.consumers).toEqual([
				{
					topic: 'persistent://public/default/mail-send-normal',
					subscription: 'mail-sender',
					subscriptionType: 'Shared',
					subscriptionInitialPosition: 'Earliest',
					nAckRedeliverTimeoutMs: 100,
					receiverQueueSize: 7,
				},
			]);
		},
		{ url: 'pulsar+ssl://broker:6651', token: SECRET },
	));

test('the client has one log handler; its warnings are told once a minute and without the token, what we asked for is not', () =>
	withBroker(
		async (_, fake, lines) => {
			await withBroker(async () => undefined, { fake });
			expect(fake.handlers).toHaveLength(1);
			fake.say(1, 'Connected to broker');
			fake.say(3, 'Failed partition-metadata lookup req_id: 1 error: TopicNotFound');
			fake.say(2, `req 1: the token ${SECRET} is no good`);
			fake.say(2, `req 2: the token ${SECRET} is no good`);
			fake.say(3, 'Connection refused');
			expect(lines).toEqual([
				{ level: 'warn', text: 'the client of the broker says: Error: req 1: the token … is no good' },
				{ level: 'error', text: 'the client of the broker says: Error: Connection refused' },
			]);
		},
		{ token: SECRET },
	));

test('an outage is told with what the admin API says to it, for the client takes a refused token for silence', async () => {
	const fake = fakePulsar();
	fake.down = true;
	const check = async (): Promise<void> => {
		throw new Error('it does not accept the token (401)');
	};
	const told = await new Promise<string>((resolve) => {
		const log = { error: () => undefined, warn: ({ err }: { err: unknown }) => resolve(String(err)) };
		const place = { url: 'pulsar://broker:6650', namespace: 'public/default', log };
		const broker = openPulsarBroker(place, () => fake.module, { ...fake.admin, check });
		broker.on('away', () => void broker.close());
	});
	expect(told).toBe('Error: Failed to get partitions: ConnectError (it does not accept the token (401))');
});

test('without the admin API topics come by auto-creation, and a backlog is refused with what is missing', () =>
	withBroker(
		async (broker) => {
			await broker.ensureTopics([PLACE]);
			await publishAll(broker, texts(PLACE.topic, 'kept'));
			const { got } = await consume(broker, { ...PLACE, slots: 1 });
			await eventually('the message', () => got.length === 1);
			await expect(broker.backlog(PLACE.topic, PLACE.subscription)).rejects.toThrow(/PULSAR_ADMIN_URL/);
		},
		{ fake: fakePulsar({ createsTopics: true }), admin: false },
	));

test('without the admin API and auto-creation a missing topic is told with what to set', () =>
	withBroker(
		async (broker) => {
			await expect(broker.ensureTopics([PLACE])).rejects.toThrow(/there is no topic mail-send-normal.*PULSAR_ADMIN_URL/);
		},
		{ admin: false },
	));

test.each(['http://broker:6650', 'pulsar://user:marker@broker:6650', 'pulsar://broker:6650?token=marker'])(
	'the URL %p is refused and not repeated',
	(url) => {
		const open = (): Broker => openPulsarBroker({ url, namespace: 'public/default' }, () => fakePulsar().module);
		expect(open).toThrow(/the broker URL must/);
		expect(open).not.toThrow(/marker/);
	},
);

test('a namespace that cannot be one is refused', () => {
	const place = { url: 'pulsar://broker:6650', namespace: 'default' };
	expect(() => openPulsarBroker(place, () => fakePulsar().module)).toThrow(/tenant\/namespace/);
});
