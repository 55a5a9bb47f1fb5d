import { brokerPart, openBroker } from '@tidings/broker';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { cannotStart, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { readSettings } from './config.js';
import { outboxPublisherParts, RELAY_DEFAULTS } from './parts.js';

const settings = readSettings();
const log = createLogger({ service: 'outbox-publisher', level: settings.LOG_LEVEL });
const metrics = createMetrics({ service: 'outbox-publisher', version: VERSION });
const tracing = tracingPart({ service: 'outbox-publisher', version: VERSION, log, drainSeconds: settings.TIDINGS_DRAIN_SECONDS });
const db = openDb({ url: settings.DATABASE_URL, name: 'outbox-publisher', connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const broker = await openBroker({
	url: settings.BROKER_URL,
	namespace: settings.BROKER_NAMESPACE,
	token: settings.BROKER_TOKEN,
	adminUrl: settings.PULSAR_ADMIN_URL,
	log,
}).catch(cannotStart(log, 78));
const parts = outboxPublisherParts({
	db,
	databaseUrl: settings.DATABASE_URL,
	broker,
	log,
	metrics,
	pollMs: settings.TIDINGS_POLL_MILLISECONDS,
	sweepSeconds: settings.TIDINGS_SWEEP_SECONDS,
	healSeconds: settings.TIDINGS_HEAL_SECONDS,
	relay: { ...RELAY_DEFAULTS, window: settings.TIDINGS_FLOW_WINDOW, leaseSeconds: settings.TIDINGS_PUBLISH_LEASE_SECONDS },
});
await runService({
	name: 'outbox-publisher',
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), brokerPart(broker, log), ...parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds: settings.TIDINGS_DRAIN_SECONDS,
});
