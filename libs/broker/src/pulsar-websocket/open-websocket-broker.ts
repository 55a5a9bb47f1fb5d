import { newId } from '@tidings/model';
import type { Broker } from '../broker.js';
import type { BrokerOptions } from '../broker-options.js';
import { deadLetterCopy } from '../dead-letter-copy.js';
import { createAdmin } from '../pulsar-admin.js';
import { openPulsarFront } from '../pulsar-front.js';
import { fullTopicName } from '../pulsar-names.js';
import { reportTo } from '../report.js';
import { type Dialled, type DialOptions, dial, type LineHandlers } from './dial.js';
import type { DeliveredMessage } from './read-message.js';
import { socketUrls } from './socket-urls.js';
import { TopicProducer } from './topic-producer.js';
import { WebSocketSubscription } from './websocket-subscription.js';

/** Where the broker is, and how long is waited for it. */
export type WebSocketOptions = BrokerOptions & {
	/** How long a connection may take to stand, and a message to be answered, in milliseconds; default 10,000. */
	readonly sendTimeoutMs?: number;
	/** How often a connection must show that it still answers, in milliseconds; default 20,000. */
	readonly pingMs?: number;
	/** How long a consumer may get nothing before it is looked whether the broker still sees it, in milliseconds; default 5,000. */
	readonly checkMs?: number;
};

const SEND_TIMEOUT_MS = 10_000;
const CHECK_MS = 5_000;

/**
 * The drivers `ws://` and `wss://`: Pulsar's WebSocket API, one connection for each topic that is published to and each subscription; topics and backlogs by the admin API.
 * It waits for nothing: `connected()` tells when the broker has answered. Throws when the URL or the namespace cannot be one.
 */
export function openWebSocketBroker(options: WebSocketOptions): Broker {
	const { url, namespace, token, adminUrl, sendTimeoutMs = SEND_TIMEOUT_MS, pingMs, checkMs = CHECK_MS } = options;
	const urls = socketUrls(url, namespace);
	const admin = createAdmin({ url: adminUrl ?? urls.admin, namespace, token });
	const report = reportTo(options.log);
	const limits = { timeoutMs: sendTimeoutMs, ...(pingMs === undefined ? {} : { pingMs }) };
	const dialTo =
		(socketUrl: string) =>
		(handlers: LineHandlers, signal: DialOptions['signal']): Promise<Dialled> =>
			dial({ url: socketUrl, token, ...limits, signal }, handlers);

	return openPulsarFront(({ publish, away, lost }) => ({
		asksFirst: false,
		report,
		probe: admin.check,
		ensureTopics: admin.ensureTopics,
		backlog: admin.backlog,
		makeProducer: (topic) => new TopicProducer({ dial: dialTo(urls.producer(topic, sendTimeoutMs)), sendTimeoutMs, lost }),
		makeConsumer: (wanted) => {
			const { topic, subscription } = wanted;
			const name = `${subscription}-${newId()}`;
			const bury = async (message: DeliveredMessage): Promise<boolean> => {
				const copy = deadLetterCopy({ ...message, topic }, subscription, fullTopicName(namespace, topic));
				return copy !== null && (await publish(copy)).kind === 'confirmed';
			};
			const ensure = (): Promise<void> => admin.ensureTopics([{ topic, subscription }]);
			const seen = async (): Promise<boolean> => (await admin.consumers(topic, subscription))?.includes(name) === true;
			return new WebSocketSubscription(
				{ dial: dialTo(urls.consumer(wanted, name)), bury, ensure, seen, away, lost, report, checkMs },
				wanted,
			);
		},
		close: async () => admin.close(),
	}));
}
