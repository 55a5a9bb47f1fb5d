import type { Db } from '@tidings/db';
import type { RetryPolicy, Route } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';
import type { DeliveryMessage } from './message.js';
import type { Persist } from './persist.js';
import type { Provider } from './provider.js';

/** What a delivery is made of. */
export type DeliveryOptions = {
	readonly db: Db;
	readonly provider: Provider;
	readonly route: Route;
	/** Shown in attempts; unique per process. */
	readonly worker: string;
	/** Sends at once through one provider config. */
	readonly slots: number;
	/** How long a claim holds, and how long one attempt may take: less than that. */
	readonly leaseSeconds: number;
	readonly deadlineSeconds: number;
	readonly policyOf: (type: string) => RetryPolicy;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Told when the database is away (take nothing new) and when it is back. */
	readonly onAway: (away: boolean) => void;
};

/** What the acts of a delivery share. */
export type DeliveryContext = DeliveryOptions & { readonly persist: Persist };

/** A message that failed in an unknown way comes back after this long. */
const NACK_MS = 30_000;

/** Hands messages back because handling them failed in a way that nobody understands. */
export function giveUp({ log, metrics, route }: DeliveryOptions, messages: readonly DeliveryMessage[], error: unknown): void {
	log.error({ err: error, records: messages.map((one) => one.recordId) }, 'handling failed in an unknown way; the messages come back');
	for (const message of messages) {
		metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'nacked' });
		message.nack(NACK_MS);
	}
}
