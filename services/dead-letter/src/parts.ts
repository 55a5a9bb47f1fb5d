import type { Broker } from '@tidings/broker';
import type { Db } from '@tidings/db';
import { createPoll, type Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { createArchiver } from './archive-letters.js';
import { createConsumer } from './consume-topics.js';
import { measureOpen } from './measure-open.js';
import { type AlertOptions, sendAlerts } from './send-alerts.js';
import { workReplays } from './work-replays.js';

/** What the dead-letter service is made of. */
export type DeadLetterOptions = {
	readonly db: Db;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Whom to tell of new dead letters; default: nobody. */
	readonly recipients?: readonly string[];
	/** When they are told. */
	readonly alerts?: Pick<AlertOptions, 'settleSeconds' | 'everySeconds'> & { readonly pollMs?: number };
};

const MEASURE_MS = 15_000;
const ALERT_MS = 15_000;
/** How long a replay that somebody asks for waits to begin, and half of what a turn at its rate takes. */
const REPLAY_MS = 500;

/** The parts of the dead-letter service: it archives what the broker gave up on, works off replays, tells operators, and counts what waits for a person. Any number may run at once. */
export function deadLetterParts({
	db,
	broker,
	log,
	metrics,
	recipients = [],
	alerts: { pollMs = ALERT_MS, ...times } = {},
}: DeadLetterOptions): Part[] {
	const consumer = createConsumer({ broker, log, metrics, onMessage: (message, channel) => archiver.take(message, channel) });
	const archiver = createArchiver({ db, log, metrics, onStuck: consumer.pause });
	const gauges = createPoll({ name: 'dead-letter-gauges', intervalMs: MEASURE_MS, log, act: () => measureOpen({ db, metrics }) });
	const replays = createPoll({
		name: 'dead-letter-replays',
		intervalMs: REPLAY_MS,
		log,
		act: (stopping) => workReplays({ db, log, metrics }, stopping),
	});
	const alerts = createPoll({
		name: 'dead-letter-alerts',
		intervalMs: pollMs,
		log,
		act: () => sendAlerts({ db, log, metrics, recipients, ...times }),
	});
	// The archiver stops before the consumer: what it finishes can still be acked.
	return [consumer, archiver, gauges, replays, alerts];
}
