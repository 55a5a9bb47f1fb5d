import { openSync, writeSync } from 'node:fs';
import { openBroker } from '@tidings/broker';
import { openDb } from '@tidings/db';
import { createMemoryWindows, openRateWindows } from '@tidings/limits';
import { mailSenderParts } from '@tidings/mail-sender';
import { outboxPublisherParts, RELAY_DEFAULTS } from '@tidings/outbox-publisher';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { SENDER_DEFAULTS } from '../harness/mesh.js';

/** Where a worker's parts are: the database, the Redis of the rate windows (empty: they are in memory), and the broker (default: embedded, in the worker's memory). */
export type WorkerPlaces = {
	readonly url: string;
	readonly redisUrl: string;
	readonly brokerUrl?: string | undefined;
	readonly namespace?: string | undefined;
};

/** A publisher and a mail sender with default settings, to be started. */
export async function openMesh({ url, redisUrl, brokerUrl = 'embedded:', namespace = 'public/default' }: WorkerPlaces) {
	// The default level: a line for each attempt is part of the work.
	const nowhere = openSync('/dev/null', 'w');
	const log = createLogger({ service: 'bench', level: 'info', destination: { write: (line) => void writeSync(nowhere, line) } });
	const metrics = createMetrics({ service: 'bench', version: '0', processMetrics: false });
	const db = openDb({ url, name: 'bench' });
	const broker = await openBroker({ url: brokerUrl, namespace });
	const healSeconds = 600;
	const limits = redisUrl === '' ? createMemoryWindows() : openRateWindows({ redisUrl });
	return {
		db,
		broker,
		log,
		metrics,
		healSeconds,
		sender: () => mailSenderParts({ db, broker, log, metrics, limits, ...SENDER_DEFAULTS }),
		publisher: () =>
			outboxPublisherParts({
				db,
				databaseUrl: url,
				broker,
				log,
				metrics,
				pollMs: 500,
				sweepSeconds: 15,
				healSeconds,
				relay: RELAY_DEFAULTS,
			}),
	};
}
