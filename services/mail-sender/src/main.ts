import { brokerPart, openBroker } from '@tidings/broker';
import { open, parseKeys } from '@tidings/crypto';
import { dbPart, openDb } from '@tidings/db';
import { VERSION } from '@tidings/model';
import { cannotStart, retryPolicies, runService } from '@tidings/runtime';
import { createLogger, createMetrics, tracingPart } from '@tidings/telemetry';
import { readSettings } from './config.js';
import { mailSenderParts } from './parts.js';

const settings = readSettings();
const log = createLogger({ service: 'mail-sender', level: settings.LOG_LEVEL });
const metrics = createMetrics({ service: 'mail-sender', version: VERSION });
const tracing = tracingPart({ service: 'mail-sender', version: VERSION, log, drainSeconds: settings.TIDINGS_DRAIN_SECONDS });
const db = openDb({ url: settings.DATABASE_URL, name: 'mail-sender', connections: settings.TIDINGS_DATABASE_CONNECTIONS, log });
const broker = await openBroker({
	url: settings.BROKER_URL,
	namespace: settings.BROKER_NAMESPACE,
	token: settings.BROKER_TOKEN,
	adminUrl: settings.PULSAR_ADMIN_URL,
	log,
}).catch(cannotStart(log, 78));
const keyring = parseKeys(settings.TIDINGS_SECRET_KEYS);
const parts = mailSenderParts({
	db,
	broker,
	log,
	metrics,
	openSecret: (sealed, field) => open(keyring, sealed, field),
	allowPrivateHosts: settings.TIDINGS_ALLOW_PRIVATE_HOSTS,
	leaseSeconds: settings.TIDINGS_LEASE_SECONDS,
	deadlineSeconds: settings.TIDINGS_SEND_DEADLINE_SECONDS,
	connectSeconds: settings.TIDINGS_SMTP_CONNECT_SECONDS,
	readSeconds: settings.TIDINGS_SMTP_READ_SECONDS,
	slots: settings.TIDINGS_SMTP_SLOTS,
	inHand: settings.TIDINGS_IN_HAND,
	policyOf: retryPolicies(settings),
});
await runService({
	name: 'mail-sender',
	log,
	metrics,
	parts: [tracing, dbPart(db, metrics), brokerPart(broker, log), ...parts],
	adminPort: settings.TIDINGS_ADMIN_PORT,
	drainSeconds: settings.TIDINGS_DRAIN_SECONDS,
});
