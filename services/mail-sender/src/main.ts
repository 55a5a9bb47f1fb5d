import { brokerPart, openBroker } from '@tidings/broker';
import { open, parseKeys } from '@tidings/crypto';
import { dbPart, openDb } from '@tidings/db';
import { openRateWindows } from '@tidings/limits';
import { VERSION } from '@tidings/model';
import { brokerOptions, cannotStart, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { readSettings, sendingOptions } from './config.js';
import { mailSenderParts } from './parts.js';

const service = 'mail-sender';
const settings = readSettings();
const drainSeconds = settings.TIDINGS_DRAIN_SECONDS;
const log = createLogger({ service, level: settings.LOG_LEVEL });
const metrics = createMetrics({ service, version: VERSION });
const tracing = tracingPart({ service, version: VERSION, log, drainSeconds });
const db = openDb({ url: settings.DATABASE_URL, name: service, connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const broker = await openBroker({ ...brokerOptions(settings), log }).catch(cannotStart(log, 78));
const keyring = parseKeys(settings.TIDINGS_SECRET_KEYS);
const parts = mailSenderParts({
	db,
	broker,
	log,
	metrics,
	limits: openRateWindows({ redisUrl: settings.REDIS_URL }),
	openSecret: (sealed, field) => open(keyring, sealed, field),
	...sendingOptions(settings),
});
await runService({
	name: service,
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), brokerPart(broker, log), ...parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds,
});
