import { brokerPart, openBroker } from '@tidings/broker';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { cannotStart, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { readSettings } from './config.js';
import { deadLetterParts } from './parts.js';

const settings = readSettings();
const log = createLogger({ service: 'dead-letter', level: settings.LOG_LEVEL });
const metrics = createMetrics({ service: 'dead-letter', version: VERSION });
const tracing = tracingPart({ service: 'dead-letter', version: VERSION, log, drainSeconds: settings.TIDINGS_DRAIN_SECONDS });
const db = openDb({ url: settings.DATABASE_URL, name: 'dead-letter', connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const broker = await openBroker({
	url: settings.BROKER_URL,
	namespace: settings.BROKER_NAMESPACE,
	token: settings.BROKER_TOKEN,
	adminUrl: settings.PULSAR_ADMIN_URL,
	log,
}).catch(cannotStart(log, 78));
const parts = deadLetterParts({ db, broker, log, metrics });
await runService({
	name: 'dead-letter',
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), brokerPart(broker, log), ...parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds: settings.TIDINGS_DRAIN_SECONDS,
});
