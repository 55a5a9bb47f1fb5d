import { expect, test } from '@jest/globals';
import { socketUrls } from './socket-urls.js';

const place = { topic: 'mail-send-normal', subscription: 'mail/sender', slots: 7, onMessage: () => undefined };

test('a producer and a consumer have every part of their names encoded, behind the prefix of the broker URL', () => {
	const urls = socketUrls('wss://host:8443/pulsar/', 'ten:ant/name.space');
	expect(urls.admin).toBe('https://host:8443/pulsar');
	expect(urls.producer('a b/c', 5_000)).toBe(
		'wss://host:8443/pulsar/ws/v2/producer/persistent/ten%3Aant/name.space/a%20b%2Fc?sendTimeoutMillis=5000&messageRoutingMode=RoundRobinPartition',
	);
	expect(urls.consumer(place, 'me')).toContain('/ws/v2/consumer/persistent/ten%3Aant/name.space/mail-send-normal/mail%2Fsender?');
});

test('a consumer shares, pulls, and has no more kept ready than it has slots', () => {
	const query = (slots: number): URLSearchParams =>
		new URL(socketUrls('ws://host', 'public/default').consumer({ ...place, slots }, 'me')).searchParams;
	expect(Object.fromEntries(query(7))).toEqual({
		subscriptionType: 'Shared',
		subscriptionInitialPosition: 'Earliest',
		consumerName: 'me',
		pullMode: 'true',
		receiverQueueSize: '7',
		negativeAckRedeliveryDelay: '100',
	});
	expect(query(5_000).get('receiverQueueSize')).toBe('1000');
});
