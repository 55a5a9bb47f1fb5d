import type { Keyring } from '@tidings/crypto';
import { type Db, troubleOf } from '@tidings/db';
import { type MonthlyCaps, NO_CAPS, type RetryPolicy } from '@tidings/model';
import { type AuthenticateOptions, createHttpServer } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import type { FastifyInstance } from 'fastify';
import type { Acceptor } from './accept-messages.js';
import type { Credentials } from './credentials.js';
import { MAIL_SCHEMAS } from './mail/mail-schema.js';
import { apiKeyActOperations } from './routes/api-key-acts.js';
import { API_KEY_SCHEMAS, apiKeyOperations } from './routes/api-keys.js';
import { AUDIT_ANSWERS, auditOperations } from './routes/audit-events.js';
import { deadLetterActOperations } from './routes/dead-letter-acts.js';
import { replayOperations } from './routes/dead-letter-replays.js';
import { deadLetterOperations, LETTER_ANSWERS } from './routes/dead-letters.js';
import { mailServerOperations, SERVER_SCHEMAS } from './routes/mail-servers.js';
import { MAIL_ANSWERS, mailOperations } from './routes/mails.js';
import { ACT_ANSWERS, messageActOperations } from './routes/message-acts.js';
import { DETAIL_ANSWERS, messageDetailOperations } from './routes/message-details.js';
import { MESSAGE_ANSWERS, messageOperations } from './routes/messages.js';
import { OUTBOX_ANSWERS, outboxOperations } from './routes/outbox-entries.js';
import { QUOTA_SCHEMAS, quotaOperations } from './routes/quota.js';
import { REPLAY_SCHEMAS } from './routes/replay-shape.js';
import { ROUTE_SCHEMAS, routeOperations } from './routes/route-gates.js';
import { STATS_ANSWERS, statsOperations } from './routes/stats.js';
import { tenantActOperations } from './routes/tenant-acts.js';
import { TENANT_SCHEMAS, tenantOperations } from './routes/tenants.js';
import { createKnownServers } from './servers/known-servers.js';
import type { ReadWindows } from './servers/read-server-state.js';

/** What the API is made of. */
export type ApiOptions = {
	readonly db: Db;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly keyring: Keyring;
	readonly acceptor: Acceptor;
	readonly credentials: Credentials;
	/** Tokens and the throttle. */
	readonly callers: AuthenticateOptions;
	/** Whether mail servers may have private, loopback or link-local addresses. */
	readonly allowPrivateHosts: boolean;
	/** The retry policy of a message type; its `maxAttempts` is stored with each message. */
	readonly policyOf: (type: string) => RetryPolicy;
	/** The monthly caps of tenants for whom nothing is set; default: none. */
	readonly caps?: MonthlyCaps;
	/** Where the rate windows of mail servers can be read; default: nowhere. */
	readonly windows?: ReadWindows;
	/** As the OpenAPI document says it. */
	readonly version: string;
};

const TAGS = [
	{ name: 'Mails', description: 'Send mails.' },
	{ name: 'Messages', description: 'Ask what became of them, and act.' },
	{ name: 'Dead letters', description: 'What could not be delivered.' },
	{ name: 'Statistics', description: 'How many messages, by what you want to know.' },
	{ name: 'Mail servers', description: 'Where mails go out.' },
	{ name: 'Tenants', description: 'Who uses the mesh, and their keys.' },
	{ name: 'Quotas', description: 'How much may be sent in a month, and how much was.' },
	{ name: 'Audit', description: 'Who changed what, and when.' },
	{ name: 'Outbox', description: 'What waits to be published to the topics, and the kinds of work.' },
	{ name: 'About', description: 'The API itself.' },
];

const INFO = {
	title: 'Tidings',
	description: `Accept once, deliver, and always know what happened.

Send \`Authorization: Bearer …\` with every request. Times are RFC 3339 in UTC, ids are UUIDv7, unknown fields are refused. A refusal is \`application/problem+json\` with a \`code\` and every fault at once. Lists answer \`{data, nextCursor}\`, newest first: give \`nextCursor\` as \`cursor\` to go on.`,
	license: { name: 'All rights reserved' },
	tags: TAGS,
};

/** Makes the whole `/v1`. It does not listen yet. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
	const { db, metrics } = options;
	const servers = createKnownServers(db);
	const tenants = { db, forget: options.credentials.forgetTenants };
	return await createHttpServer({
		log: options.log,
		metrics,
		credentials: options.credentials,
		callers: options.callers,
		isAway: (error) => ['away', 'retryable'].includes(troubleOf(error)),
		info: { ...INFO, version: options.version },
		schemas: [
			...MAIL_SCHEMAS,
			...MAIL_ANSWERS,
			...MESSAGE_ANSWERS,
			...DETAIL_ANSWERS,
			...ACT_ANSWERS,
			...LETTER_ANSWERS,
			...REPLAY_SCHEMAS,
			...SERVER_SCHEMAS,
			...TENANT_SCHEMAS,
			...API_KEY_SCHEMAS,
			...AUDIT_ANSWERS,
			...STATS_ANSWERS,
			...QUOTA_SCHEMAS,
			...OUTBOX_ANSWERS,
			...ROUTE_SCHEMAS,
		],
		operations: [
			...mailOperations({ db, acceptor: options.acceptor, servers, policyOf: options.policyOf }, metrics),
			...messageOperations(db),
			...messageDetailOperations(db),
			...messageActOperations(db),
			...deadLetterOperations(db),
			...deadLetterActOperations({ db, metrics }),
			...replayOperations(db),
			...mailServerOperations({ ...options, servers }),
			...tenantOperations(tenants),
			...tenantActOperations(tenants),
			...apiKeyOperations(db),
			...apiKeyActOperations({ db, forget: options.credentials.forget }),
			...auditOperations(db),
			...statsOperations(db),
			...quotaOperations({ ...tenants, caps: options.caps ?? NO_CAPS, log: options.log, metrics: options.metrics }),
			...outboxOperations(db),
			...routeOperations(db),
		],
	});
}
