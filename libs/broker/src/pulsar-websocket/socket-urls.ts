import type { SubscribeOptions } from '../broker.js';
import { namespacePath, pulsarUrl } from '../pulsar-names.js';

/** The addresses that a broker's URL leads to. */
export type SocketUrls = {
	/** Of the admin API at the same server. */
	readonly admin: string;
	/** Of a producer of a topic. */
	producer(topic: string, sendTimeoutMs: number): string;
	/** Of a consumer under a name that is its own. */
	consumer(options: SubscribeOptions, name: string): string;
};

/** The least delay that Pulsar takes before a nacked message comes again, in milliseconds. */
const LEAST_NACK_MS = 100;

/** More than that Pulsar keeps ready for no consumer. */
const MOST_READY = 1_000;

/** Throws when the URL is not one of ws:// or wss://, or when the namespace cannot be one; the text repeats nothing of the URL. */
export function socketUrls(url: string, namespace: string): SocketUrls {
	const server = pulsarUrl(url, ['ws:', 'wss:'], 'the broker URL');
	const path = namespacePath(namespace);
	const base = (kind: string, topic: string): string => `${server}/ws/v2/${kind}/persistent/${path}/${encodeURIComponent(topic)}`;
	return {
		admin: server.replace(/^ws/, 'http'),
		producer: (topic, sendTimeoutMs) =>
			`${base('producer', topic)}?${new URLSearchParams({
				sendTimeoutMillis: String(sendTimeoutMs),
				messageRoutingMode: 'RoundRobinPartition',
			})}`,
		consumer(options, name) {
			const { topic, subscription, slots } = options;
			const query = new URLSearchParams({
				subscriptionType: 'Shared',
				subscriptionInitialPosition: 'Earliest',
				consumerName: name,
				pullMode: 'true',
				// What is ready for one consumer is out of reach for the others.
				receiverQueueSize: String(Math.min(MOST_READY, slots)),
				negativeAckRedeliveryDelay: String(LEAST_NACK_MS),
			});
			return `${base('consumer', topic)}/${encodeURIComponent(subscription)}?${query}`;
		},
	};
}
