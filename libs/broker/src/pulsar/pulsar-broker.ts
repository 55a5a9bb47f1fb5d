import type { Broker, Place } from '../broker.js';
import { textOf } from '../error-text.js';
import type { Admin } from '../pulsar-admin.js';
import { type Front, openPulsarFront, type PulsarDriver } from '../pulsar-front.js';
import { fullTopicName } from '../pulsar-names.js';
import type { Report } from '../report.js';
import type { PulsarClient } from './client-types.js';
import { PulsarSubscription } from './consumer.js';
import { errorKind, nameOf } from './error-kind.js';
import { TopicProducer } from './topic-producer.js';
import { within } from './within.js';

/** What the driver asks of the admin API. */
export type PulsarAdmin = Pick<Admin, 'ensureTopics' | 'backlog'> & Partial<Pick<Admin, 'check' | 'close'>>;

/** What the driver stands on. Times are in the unit of their name. */
export type PulsarBrokerOptions = {
	/** Kept as long as the broker: it would close everything when it were collected. */
	readonly client: PulsarClient;
	readonly namespace: string;
	/** Undefined without the address of the admin API. */
	readonly admin: PulsarAdmin | undefined;
	readonly report: Report;
	readonly sendTimeoutMs: number;
	/** Called when everything is closed. */
	closed(): void;
};

const CLOSE_MS = 5_000;
/** A broker that has not answered a look-up for so long is away. */
const PROBE_MS = 5_000;
/** Asked for at the start, so that something answers; it need not exist. */
const PROBE_TOPIC = 'tidings-probe';

const NO_ADMIN = 'PULSAR_ADMIN_URL is missing';

/** The port to a Pulsar that is reached by the official client. */
export function pulsarBroker(options: PulsarBrokerOptions): Broker {
	return openPulsarFront((front) => pulsarDriver(options, front));
}

function pulsarDriver(options: PulsarBrokerOptions, { publish, away, lost }: Front): PulsarDriver {
	const { client, namespace, admin, report, sendTimeoutMs } = options;
	const fullName = (topic: string): string => fullTopicName(namespace, topic);
	const ensure = admin === undefined ? undefined : (place: Place): Promise<void> => admin.ensureTopics([place]);
	const makeConsumer: PulsarDriver['makeConsumer'] = (wanted) =>
		new PulsarSubscription({ client, fullName, ensure, publish, away, lost, report }, wanted);
	return {
		asksFirst: true,
		report,
		probe: () => probe(options),
		makeProducer: (topic) => new TopicProducer({ client, topic: fullName(topic), sendTimeoutMs, away, lost }),
		makeConsumer,
		ensureTopics: async (places) => {
			if (admin === undefined) await Promise.all(places.map((place) => touch(place, makeConsumer)));
			else await admin.ensureTopics(places);
		},
		backlog: async (topic, subscription) => {
			if (admin === undefined) throw new Error(`${NO_ADMIN}: a backlog is read by Pulsar's admin API`);
			return await admin.backlog(topic, subscription);
		},
		close: async () => {
			await within(client.close(), CLOSE_MS, 'Failed to close client').catch((error) =>
				report(error, 'the client of the broker does not close', 'warn'),
			);
			admin?.close?.();
			options.closed();
		},
	};
}

/** A broker that creates topics does so for whoever subscribes; the subscription stays when its consumer goes. */
async function touch(place: Place, makeConsumer: PulsarDriver['makeConsumer']): Promise<void> {
	const consumer = makeConsumer({ ...place, slots: 1, onMessage: (message) => message.nack(0) });
	consumer.pause();
	try {
		await consumer.start();
	} catch (error) {
		throw new Error(`${textOf(error)}; ${NO_ADMIN}: without it a topic is made by the broker's auto-creation or by hand`, {
			cause: error,
		});
	}
	await consumer.close();
}

/** Any answer will do, also that there is no such topic or that nobody may know. */
async function probe({ client, namespace, admin }: PulsarBrokerOptions): Promise<void> {
	try {
		const asked = client.getPartitionsForTopic(fullTopicName(namespace, PROBE_TOPIC));
		await within(asked, PROBE_MS, 'Failed to ask the broker');
	} catch (error) {
		if (errorKind(error) !== 'no-topic' && nameOf(error) !== 'AuthorizationError')
			throw new Error(`${textOf(error)}${await explain(admin)}`, { cause: error });
	}
}

/** The client takes a refused token for silence; the admin API says so. */
async function explain(admin: PulsarAdmin | undefined): Promise<string> {
	if (admin?.check === undefined) return ' (not reachable, or the token is not accepted)';
	return await admin.check().then(
		() => '',
		(error) => ` (${textOf(error)})`,
	);
}
