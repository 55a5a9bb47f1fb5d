import { brokerPart, openBroker } from '@tidings/broker';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { brokerOptions, cannotStart, monthlyCaps, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { alertRecipients } from './alert-recipients.js';
import { readSettings } from './config.js';
import { deadLetterParts } from './parts.js';

const service = 'dead-letter';
const settings = readSettings();
const drainSeconds = settings.TIDINGS_DRAIN_SECONDS;
const log = createLogger({ service, level: settings.LOG_LEVEL });
const metrics = createMetrics({ service, version: VERSION });
const tracing = tracingPart({ service, version: VERSION, log, drainSeconds });
const db = openDb({ url: settings.DATABASE_URL, name: service, connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const broker = await openBroker({ ...brokerOptions(settings), log }).catch(cannotStart(log, 78));
const parts = deadLetterParts({
	db,
	databaseUrl: settings.DATABASE_URL,
	broker,
	log,
	metrics,
	recipients: alertRecipients(settings),
	caps: monthlyCaps(settings),
});
await runService({
	name: service,
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), brokerPart(broker, log), ...parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds,
});
