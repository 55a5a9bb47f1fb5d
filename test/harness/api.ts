import { randomBytes } from 'node:crypto';
import { parseKeys } from '@tidings/crypto';
import { type Db, openDb } from '@tidings/db';
import { bootstrap, type MessageApiOptions, messageApiParts } from '@tidings/message-api';
import { DEFAULT_RETRY } from '@tidings/model';
import { startParts, stopParts } from '@tidings/runtime';
import { createLogger, createMetrics, type Metrics } from '@tidings/telemetry';
import { createConform } from './conform.js';
import { createDatabase } from './database.js';

/** One answer: status, headers in lower case, and the body when it is JSON. */
export type Answer = { readonly status: number; readonly headers: Headers; readonly body: ReturnType<typeof JSON.parse> };

/** What is sent: a body as a value, or raw. `key` null: no credential; default: the first tenant's. */
export type Call = {
	readonly method?: string;
	readonly key?: string | null;
	readonly headers?: Record<string, string>;
	readonly body?: unknown;
	readonly raw?: string | Buffer;
};

/** A message-api that listens, with its database, its first tenant and two keys. */
export type TestApi = {
	readonly db: Db;
	readonly url: string;
	readonly databaseUrl: string;
	readonly origin: string;
	readonly tenantId: string;
	readonly apiKey: string;
	readonly platformKey: string;
	readonly metrics: Metrics;
	/** Every line that was logged. */
	readonly log: readonly string[];
	/** Sends a request, and fails when the answer is not one that the OpenAPI document promises. */
	call(path: string, call?: Call): Promise<Answer>;
	stop(): Promise<void>;
};

/** Starts message-api on a fresh database (or on `databaseUrl`, which is then not dropped). */
export async function startApi(
	options: {
		databaseUrl?: string;
		allowPrivateHosts?: boolean;
		keys?: { apiKey: string; platformKey: string; tenantId: string };
		/** As TIDINGS_SECRET_KEYS; default: a key of its own. */
		secretKeys?: string;
		callers?: Pick<MessageApiOptions, 'jwt' | 'ratePerSecond' | 'redisUrl'>;
		caps?: MessageApiOptions['caps'];
	} = {},
): Promise<TestApi> {
	const database = options.databaseUrl === undefined ? await createDatabase() : { url: options.databaseUrl, drop: async () => undefined };
	const lines: string[] = [];
	const log = createLogger({ service: 'message-api', level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
	const metrics = createMetrics({ service: 'message-api', version: '0', processMetrics: false });
	const db = openDb({ url: database.url, name: 'test-api' });
	const keys = options.keys ?? (await bootstrap(db));
	const api = messageApiParts({
		db,
		log,
		metrics,
		keyring: parseKeys(options.secretKeys ?? `k1:${randomBytes(32).toString('base64')}`),
		httpPort: 0,
		host: '127.0.0.1',
		allowPrivateHosts: options.allowPrivateHosts ?? true,
		policyOf: () => DEFAULT_RETRY,
		version: '0',
		...options.callers,
		...(options.caps === undefined ? {} : { caps: options.caps }),
	});
	const running = await startParts(api.parts, { log });
	const origin = api.address();
	let conforms: Promise<ReturnType<typeof createConform>> | null = null;
	return {
		...keys,
		db,
		url: database.url,
		databaseUrl: database.url,
		origin,
		metrics,
		log: lines,
		call: async (path, call = {}) => {
			const answer = await send(origin, keys.apiKey, path, call);
			conforms ??= send(origin, '', '/openapi.json', { key: null }).then((document) => createConform(document.body));
			const faults = (await conforms)(methodOf(call), path, answer);
			if (faults.length > 0)
				throw new Error(`${methodOf(call)} ${path} answered ${answer.status}, not as the document says: ${faults.slice(0, 5).join('; ')}`);
			return answer;
		},
		stop: async () => {
			await stopParts(running, { log, deadlineSeconds: 10 });
			await db.close();
			await database.drop();
		},
	};
}

function methodOf(call: Call): string {
	return call.method ?? (call.raw === undefined && call.body === undefined ? 'GET' : 'POST');
}

async function send(origin: string, ownKey: string, path: string, call: Call): Promise<Answer> {
	const key = call.key === undefined ? ownKey : call.key;
	const body = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
	const response = await fetch(origin + path, {
		method: methodOf(call),
		headers: {
			...(key === null ? {} : { authorization: `Bearer ${key}` }),
			...(body === undefined ? {} : { 'content-type': 'application/json' }),
			...call.headers,
		},
		...(body === undefined ? {} : { body }),
	});
	const text = await response.text();
	return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

/** The rows of every table that accepting writes: equal before and after means that nothing was written. */
export async function countRows(db: Db): Promise<Record<string, number>> {
	const tables = [
		'send_record',
		'send_state',
		'send_payload',
		'send_recipient',
		'attachment',
		'outbox_entry',
		'dedupe_key',
		'idempotency_key',
		'tenant_message_usage',
		'mail_send_server_config',
		'gate',
		'api_key',
		'tenant',
		'audit_event',
	];
	const { rows } = await db.pool.query(
		tables.map((table) => `select '${table}' as name, count(*)::int as n from ${table}`).join(' union all '),
	);
	return Object.fromEntries(rows.map((row: { name: string; n: number }) => [row.name, row.n]));
}
