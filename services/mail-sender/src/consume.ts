import { type Broker, type Consumer, consumeAll, type IncomingMessage } from '@tidings/broker';
import type { DeliveryMessage } from '@tidings/delivery';
import { deadLettersOf, type Lane, type Route, topicsOf } from '@tidings/model';
import { type Logger, type Metrics, messagingAttributes, startSpan } from '@tidings/telemetry';

/** What consuming needs. */
export type ConsumeOptions = {
	readonly broker: Broker;
	readonly route: Route;
	/** Un-acked messages at most, for each lane. */
	readonly inHand: number;
	/** The broker's kind as traces show it. */
	readonly messagingSystem: string;
	readonly onMessage: (message: DeliveryMessage) => void;
	readonly log: Logger;
	readonly metrics: Metrics;
};

/** Makes a consumer of all lanes of a route. The topics, and those for what the broker gives up on, are made before anything is taken from them. */
export function createConsumer(options: ConsumeOptions): Consumer {
	const { broker, route, inHand, messagingSystem: system, onMessage, log, metrics } = options;
	return consumeAll({
		broker,
		name: 'subscriptions',
		wanted: topicsOf(route).map(({ topic, subscription, lane }) => ({
			topic,
			subscription,
			slots: inHand,
			onMessage: (message) => onMessage(receive(message, { lane, topic, subscription, system })),
		})),
		besides: deadLettersOf(route),
		log,
		onConnected: (connected) => metrics.brokerConnected.set(connected ? 1 : 0),
	});
}

/** Begins the step of the message's trace that lasts until it is acked or handed back, under the step that published it. */
function receive(
	{ id: messageId, payload, properties, ack, nack }: IncomingMessage,
	{ lane, ...from }: { lane: Lane; topic: string; subscription: string; system: string },
): DeliveryMessage {
	const { topic } = from;
	const span = startSpan(`process ${topic}`, properties['traceparent'] ?? '', {
		kind: 'consumer',
		attributes: messagingAttributes({ ...from, operation: 'process', messageId }),
	});
	return {
		lane,
		topic,
		messageId,
		payload,
		span,
		ack: () => {
			ack();
			span.end();
		},
		nack: (delayMs) => {
			nack(delayMs);
			span.fail('nacked');
			span.end();
		},
	};
}
