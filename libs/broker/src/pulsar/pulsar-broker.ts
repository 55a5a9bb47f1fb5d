import type { Broker, BrokerEvent, OutgoingMessage, Place, PublishResult, SubscribeOptions, Subscription } from '../broker.js';
import { refusalOf } from '../check-message.js';
import { textOf } from '../error-text.js';
import { Presence, type Sight } from '../presence.js';
import type { Admin } from '../pulsar-admin.js';
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

const CLOSED = 'the broker is closed';
const NO_ADMIN = 'PULSAR_ADMIN_URL is missing';

/** The port to a Pulsar that is reached by the official client. */
export class PulsarBroker implements Broker {
	readonly #options: PulsarBrokerOptions;
	readonly #presence: Presence;
	readonly #producers = new Map<string, TopicProducer>();
	readonly #subscriptions = new Set<PulsarSubscription>();
	#closing: Promise<void> | undefined;

	/** Asks the broker at once whether it is there. */
	constructor(options: PulsarBrokerOptions) {
		this.#options = options;
		this.#presence = new Presence({ probe: () => this.#probe(), look: () => this.#look(), report: options.report });
		this.#presence.on('back', () => {
			for (const subscription of this.#subscriptions) subscription.wake();
		});
	}

	publish(messages: readonly OutgoingMessage[]): Promise<PublishResult[]> {
		return Promise.all(messages.map((message) => this.#publish(message)));
	}

	async subscribe(options: SubscribeOptions): Promise<Subscription> {
		if (this.#closing !== undefined) throw new Error(CLOSED);
		if (!Number.isInteger(options.slots) || options.slots < 1)
			throw new RangeError(`slots must be an integer from 1, not ${options.slots}`);
		const reason = await this.#away();
		if (reason !== undefined) throw new Error(`the broker is away: ${reason}`);
		const subscription = this.#makeSubscription(options);
		await subscription.start();
		this.#subscriptions.add(subscription);
		if (this.#closing !== undefined) {
			await subscription.close();
			throw new Error(CLOSED);
		}
		return {
			pause: () => subscription.pause(),
			resume: () => subscription.resume(),
			close: async () => {
				this.#subscriptions.delete(subscription);
				await subscription.close();
			},
		};
	}

	async backlog(topic: string, subscription: string): Promise<number> {
		if (this.#closing !== undefined) throw new Error(CLOSED);
		const { admin } = this.#options;
		if (admin === undefined) throw new Error(`${NO_ADMIN}: a backlog is read by Pulsar's admin API`);
		return await admin.backlog(topic, subscription);
	}

	async ensureTopics(places: readonly Place[]): Promise<void> {
		if (this.#closing !== undefined) throw new Error(CLOSED);
		const { admin } = this.#options;
		if (admin === undefined) await Promise.all(places.map((place) => this.#touch(place)));
		else await admin.ensureTopics(places);
		// The admin API answers by another port: whoever has made topics finds the broker connected if it is.
		if (!this.connected()) await this.#presence.check();
	}

	connected(): boolean {
		return this.#presence.connected();
	}

	on(event: BrokerEvent, listener: () => void): void {
		this.#presence.on(event, listener);
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #publish(message: OutgoingMessage): Promise<PublishResult> {
		if (this.#closing !== undefined) return { kind: 'away', reason: CLOSED };
		const refusal = refusalOf(message);
		if (refusal !== null) return refusal;
		const { topic } = message;
		const reason = await this.#away();
		if (reason !== undefined) return { kind: 'away', reason };
		const producer = this.#producers.get(topic) ?? this.#makeProducer(topic);
		this.#producers.set(topic, producer);
		const result = await producer.publish(message);
		if (result.kind === 'no-topic' && producer.idle()) this.#producers.delete(topic);
		return result;
	}

	/** Why nothing can be done now. What is asked before the broker has answered for the first time waits for that. */
	async #away(): Promise<string | undefined> {
		if (!this.connected() && this.#presence.away() === undefined) await this.#presence.check();
		return this.#closing === undefined ? this.#presence.away() : CLOSED;
	}

	#makeProducer(topic: string): TopicProducer {
		const { client, sendTimeoutMs } = this.#options;
		return new TopicProducer({
			client,
			topic: this.#fullName(topic),
			sendTimeoutMs,
			away: () => this.#presence.away(),
			lost: (reason, askedAt) => this.#presence.lost(reason, askedAt),
		});
	}

	#makeSubscription(options: SubscribeOptions): PulsarSubscription {
		const { client, admin, report } = this.#options;
		return new PulsarSubscription(
			{
				client,
				fullName: (topic) => this.#fullName(topic),
				ensure: admin === undefined ? undefined : (place) => admin.ensureTopics([place]),
				publish: (message) => this.#publish(message),
				away: () => this.#presence.away(),
				lost: (reason, askedAt) => this.#presence.lost(reason, askedAt),
				report,
			},
			options,
		);
	}

	/** A broker that creates topics does so for whoever subscribes; the subscription stays when its consumer goes. */
	async #touch(place: Place): Promise<void> {
		const subscription = this.#makeSubscription({ ...place, slots: 1, onMessage: (message) => message.nack(0) });
		subscription.pause();
		try {
			await subscription.start();
		} catch (error) {
			throw new Error(`${textOf(error)}; ${NO_ADMIN}: without it a topic is made by the broker's auto-creation or by hand`, {
				cause: error,
			});
		}
		await subscription.close();
	}

	#fullName(topic: string): string {
		return fullTopicName(this.#options.namespace, topic);
	}

	/** Any answer will do, also that there is no such topic or that nobody may know. */
	async #probe(): Promise<void> {
		try {
			const asked = this.#options.client.getPartitionsForTopic(this.#fullName(PROBE_TOPIC));
			await within(asked, PROBE_MS, 'Failed to ask the broker');
		} catch (error) {
			if (errorKind(error) !== 'no-topic' && nameOf(error) !== 'AuthorizationError')
				throw new Error(`${textOf(error)}${await this.#explain()}`, { cause: error });
		}
	}

	/** The client takes a refused token for silence; the admin API says so. */
	async #explain(): Promise<string> {
		const { admin } = this.#options;
		if (admin?.check === undefined) return ' (not reachable, or the token is not accepted)';
		return await admin.check().then(
			() => '',
			(error) => ` (${textOf(error)})`,
		);
	}

	#look(): Sight {
		const sights = [
			...[...this.#producers.values()].map((producer) => producer.look()),
			...[...this.#subscriptions].map((subscription) => subscription.look()),
		];
		if (sights.includes('up')) return 'up';
		return sights.includes('down') ? 'down' : 'none';
	}

	async #close(): Promise<void> {
		const { client, admin, report, closed } = this.#options;
		this.#presence.close();
		await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
		await Promise.all([...this.#producers.values()].map((producer) => producer.close()));
		await within(client.close(), CLOSE_MS, 'Failed to close client').catch((error) =>
			report(error, 'the client of the broker does not close', 'warn'),
		);
		admin?.close?.();
		closed();
	}
}
