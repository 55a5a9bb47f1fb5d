import { parseKeys } from '@tidings/crypto';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { retryPolicies, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { readSettings } from './config.js';
import { messageApiParts } from './parts.js';

const settings = readSettings();
const log = createLogger({ service: 'message-api', level: settings.LOG_LEVEL });
const metrics = createMetrics({ service: 'message-api', version: VERSION });
const tracing = tracingPart({ service: 'message-api', version: VERSION, log, drainSeconds: settings.TIDINGS_DRAIN_SECONDS });
const db = openDb({ url: settings.DATABASE_URL, name: 'message-api', connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const api = messageApiParts({
	db,
	log,
	metrics,
	keyring: parseKeys(settings.TIDINGS_SECRET_KEYS),
	httpPort: settings.TIDINGS_HTTP_PORT,
	allowPrivateHosts: settings.TIDINGS_ALLOW_PRIVATE_HOSTS,
	policyOf: retryPolicies(settings),
	version: VERSION,
});
await runService({
	name: 'message-api',
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), ...api.parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds: settings.TIDINGS_DRAIN_SECONDS,
});
