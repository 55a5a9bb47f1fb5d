import type { Broker, IncomingMessage, Subscription } from '@tidings/broker';
import { archivePoison, type Db } from '@tidings/db';
import type { Delivery } from '@tidings/delivery';
import { decodeEnvelope, type Lane, type Route, topicsOf } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';

/** What consuming needs. `inHand`: un-acked messages at most, for each lane. */
export type ConsumeOptions = {
	readonly broker: Broker;
	readonly db: Db;
	readonly delivery: Delivery;
	readonly route: Route;
	readonly inHand: Readonly<Record<Lane, number>>;
	readonly log: Logger;
	readonly metrics: Metrics;
};

const NACK_MS = 30_000;

/** Subscribes to the lanes of a route and gives what comes to the delivery. Poison is archived at first sight and then acked. */
export async function consume(options: ConsumeOptions): Promise<Subscription[]> {
	const { broker, delivery, route } = options;
	const topics = topicsOf(route);
	await broker.ensureTopics(topics);
	return await Promise.all(
		topics.map(({ topic, subscription, lane }) =>
			broker.subscribe({
				topic,
				subscription,
				slots: options.inHand[lane],
				onMessage: (message) => {
					const envelope = decodeEnvelope(message.payload);
					const poison = (reason: string): void => void archive(options, message, lane, reason);
					if (typeof envelope === 'string') return poison(envelope);
					const { recordId, tenantId, traceId } = envelope;
					delivery.take({ recordId, tenantId, traceId, lane, ack: message.ack, nack: message.nack, poison });
				},
			}),
		),
	);
}

async function archive({ db, log, metrics, route }: ConsumeOptions, message: IncomingMessage, lane: Lane, reason: string): Promise<void> {
	try {
		await archivePoison(db.pool, {
			topic: message.topic,
			messageId: message.id,
			reason,
			envelope: new TextDecoder().decode(message.payload),
		});
		log.error({ topic: message.topic, messageId: message.id, reason }, 'poison was archived as a dead letter');
		metrics.messagesConsumedTotal.inc({ route, lane, result: 'poison' });
		message.ack();
	} catch (error) {
		log.error({ err: error, topic: message.topic, messageId: message.id }, 'poison could not be archived and comes back');
		message.nack(NACK_MS);
	}
}
