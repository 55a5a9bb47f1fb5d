import { parseKeys } from '@tidings/crypto';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { monthlyCaps, retryPolicies, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { callerOptions, readSettings } from './config.js';
import { messageApiParts } from './parts.js';

const service = 'message-api';
const settings = readSettings();
const drainSeconds = settings.TIDINGS_DRAIN_SECONDS;
const log = createLogger({ service, level: settings.LOG_LEVEL });
const metrics = createMetrics({ service, version: VERSION });
const tracing = tracingPart({ service, version: VERSION, log, drainSeconds });
const db = openDb({ url: settings.DATABASE_URL, name: service, connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const api = messageApiParts({
	db,
	log,
	metrics,
	keyring: parseKeys(settings.TIDINGS_SECRET_KEYS),
	httpPort: settings.TIDINGS_HTTP_PORT,
	allowPrivateHosts: settings.TIDINGS_ALLOW_PRIVATE_HOSTS,
	policyOf: retryPolicies(settings),
	caps: monthlyCaps(settings),
	...callerOptions(settings),
	redisUrl: settings.REDIS_URL ?? null,
	version: VERSION,
});
await runService({
	name: service,
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), ...api.parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds,
});
