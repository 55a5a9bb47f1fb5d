import type { Broker } from '@tidings/broker';
import type { Db } from '@tidings/db';
import { createPoll, type Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { createArchiver } from './archive-letters.js';
import { createConsumer } from './consume-topics.js';
import { measureOpen } from './measure-open.js';

/** What the dead-letter service is made of. */
export type DeadLetterOptions = { readonly db: Db; readonly broker: Broker; readonly log: Logger; readonly metrics: Metrics };

const MEASURE_MS = 15_000;

/** The parts of the dead-letter service: it archives what the broker gave up on, and counts what waits for a person. Any number may run at once. */
export function deadLetterParts({ db, broker, log, metrics }: DeadLetterOptions): Part[] {
	const consumer = createConsumer({ broker, log, metrics, onMessage: (message, channel) => archiver.take(message, channel) });
	const archiver = createArchiver({ db, log, metrics, onStuck: consumer.pause });
	const gauges = createPoll({ name: 'dead-letter-gauges', intervalMs: MEASURE_MS, log, act: () => measureOpen({ db, metrics }) });
	// The archiver stops before the consumer: what it finishes can still be acked.
	return [consumer, archiver, gauges];
}
