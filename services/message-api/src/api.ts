import type { Keyring } from '@tidings/crypto';
import { type Db, troubleOf } from '@tidings/db';
import type { RetryPolicy } from '@tidings/model';
import { createHttpServer } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import type { FastifyInstance } from 'fastify';
import type { Acceptor } from './accept-messages.js';
import { credentialsIn } from './credentials.js';
import { MAIL_SCHEMAS } from './mail/mail-schema.js';
import { API_KEY_SCHEMAS, apiKeyOperations } from './routes/api-keys.js';
import { deadLetterOperations, LETTER_ANSWERS } from './routes/dead-letters.js';
import { mailServerOperations, SERVER_SCHEMAS } from './routes/mail-servers.js';
import { MAIL_ANSWERS, mailOperations } from './routes/mails.js';
import { ACT_ANSWERS, messageActOperations } from './routes/message-acts.js';
import { DETAIL_ANSWERS, messageDetailOperations } from './routes/message-details.js';
import { MESSAGE_ANSWERS, messageOperations } from './routes/messages.js';
import { TENANT_SCHEMAS, tenantOperations } from './routes/tenants.js';
import { createKnownServers } from './servers/known-servers.js';

/** What the API is made of. */
export type ApiOptions = {
	readonly db: Db;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly keyring: Keyring;
	readonly acceptor: Acceptor;
	/** Whether mail servers may have private, loopback or link-local addresses. */
	readonly allowPrivateHosts: boolean;
	/** The retry policy of a message type; its `maxAttempts` is stored with each message. */
	readonly policyOf: (type: string) => RetryPolicy;
	/** As the OpenAPI document says it. */
	readonly version: string;
};

const TAGS = [
	{ name: 'Mails', description: 'Send mails.' },
	{ name: 'Messages', description: 'Ask what became of them, and act.' },
	{ name: 'Dead letters', description: 'What could not be delivered.' },
	{ name: 'Mail servers', description: 'Where mails go out.' },
	{ name: 'Tenants', description: 'Who uses the mesh, and their keys.' },
	{ name: 'About', description: 'The API itself.' },
];

/** Makes the whole `/v1`. It does not listen yet. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
	const { db, metrics } = options;
	const servers = createKnownServers(db);
	return await createHttpServer({
		log: options.log,
		metrics,
		credentials: credentialsIn(db),
		isAway: (error) => ['away', 'retryable'].includes(troubleOf(error)),
		info: { title: 'Tidings', version: options.version, description: 'Accept once, deliver, and always know what happened.', tags: TAGS },
		schemas: [
			...MAIL_SCHEMAS,
			...MAIL_ANSWERS,
			...MESSAGE_ANSWERS,
			...DETAIL_ANSWERS,
			...ACT_ANSWERS,
			...LETTER_ANSWERS,
			...SERVER_SCHEMAS,
			...TENANT_SCHEMAS,
			...API_KEY_SCHEMAS,
		],
		operations: [
			...mailOperations({ db, acceptor: options.acceptor, servers, policyOf: options.policyOf }, metrics),
			...messageOperations(db),
			...messageDetailOperations(db),
			...messageActOperations(db),
			...deadLetterOperations(db),
			...mailServerOperations({ db, keyring: options.keyring, allowPrivateHosts: options.allowPrivateHosts, servers }),
			...tenantOperations(db),
			...apiKeyOperations(db),
		],
	});
}
