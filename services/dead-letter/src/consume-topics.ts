import { type Broker, type Consumer, consumeAll, type IncomingMessage } from '@tidings/broker';
import { type Channel, deadLettersOf, ROUTES } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';

/** What consuming needs. */
export type ConsumeOptions = {
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** `channel`: what the topic's route delivers. */
	readonly onMessage: (message: IncomingMessage, channel: Channel) => void;
};

/** Un-acked messages of a topic at most: enough for a statement to carry many, and few enough to hold when each has 5 MB. */
const SLOTS = 20;
/** A message that cannot be archived keeps coming: there is no other place for it. */
const FOR_EVER = 1_000_000;

/** Makes a consumer of the dead-letter topics of every route and lane; it makes those that do not exist. */
export function createConsumer({ broker, log, metrics, onMessage }: ConsumeOptions): Consumer {
	return consumeAll({
		broker,
		name: 'dead-letter-topics',
		wanted: ROUTES.flatMap(({ route, channel }) =>
			deadLettersOf(route).map(({ topic, subscription }) => ({
				topic,
				subscription,
				slots: SLOTS,
				maxRedeliveries: FOR_EVER,
				onMessage: (message: IncomingMessage) => onMessage(message, channel),
			})),
		),
		log,
		onConnected: (connected) => metrics.brokerConnected.set(connected ? 1 : 0),
	});
}
