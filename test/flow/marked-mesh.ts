import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Broker, type IncomingMessage, openBroker } from '@tidings/broker';
import type { Db } from '@tidings/db';
import { bootstrap } from '@tidings/message-api';
import { deadLettersOf, topicsOf } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { CERTIFICATE } from '../harness/foreign-tls.js';
import { type OtlpCollector, startCollector } from '../harness/otlp-collector.js';
import { makeProcessMesh, type ProcessMesh } from '../harness/process-mesh.js';
import { startRedis } from '../harness/redis.js';
import { pulsarOfRun } from '../harness/run-pulsar.js';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { CONTENTS as C, SECRETS as S } from './marks.js';

/** A request; default: a GET, or a POST where there is a body, with the first tenant's key. */
type Asked = {
	readonly method?: string;
	readonly key?: string;
	readonly headers?: Record<string, string>;
	readonly body?: unknown;
	readonly raw?: string;
};
type Given = { readonly status: number; readonly body: ReturnType<typeof JSON.parse> };

/** A mesh of processes at their most talkative, whose settings hold marks, and everything that it says. */
export type MarkedMesh = {
	readonly mesh: ProcessMesh;
	readonly tokenSecret: string;
	/** Between the services and the database. */
	readonly proxy: TcpProxy;
	readonly witness: Broker;
	readonly platformKey: string;
	/** Secrets that have come about; more may be added. */
	readonly secrets: Record<string, string>;
	ask(path: string, asked?: Asked): Promise<Given>;
	/** Asks for something that must work, and answers the body. */
	get(path: string, asked?: Asked): Promise<Given['body']>;
	/** Waits until a record has this status. */
	ended(id: string, status: string): Promise<void>;
	/** Notes what the admin ports say now. */
	probe(): Promise<void>;
	/** What has been said until now, by where: `logs`, `readiness`, `metrics`, `spans`, `messages`, `topics`, `refusals`, and `answers` and `tables` for secrets alone. */
	outputs(): Promise<Record<string, string>>;
	close(): Promise<void>;
};

const PATIENCE = { within: 60_000 };

/** The piece of an API key's secret that is looked for: a log may cut the rest off. */
export const secretOf = (key: string): string => key.split('_').slice(2).join('_').slice(0, 20);

/** Starts one of each service, all with marked settings, and subscribes to all that they publish. */
export async function startMarkedMesh(): Promise<MarkedMesh> {
	const sealing = randomBytes(32);
	const tokenSecret = `${S.tokenSecret}-which-is-long-enough-to-sign`;
	const folder = mkdtempSync(join(tmpdir(), 'tidings-markers-'));
	const collector = await startCollector();
	let proxy: TcpProxy | undefined;
	const mesh = await makeProcessMesh({
		through: async ({ databaseUrl, brokerUrl }) => {
			const url = new URL(databaseUrl);
			proxy = await startProxy({ host: url.hostname, port: Number(url.port || 5432) });
			url.host = `127.0.0.1:${proxy.port}`;
			url.password = S.databasePassword;
			return { databaseUrl: url.href, brokerUrl };
		},
		settings: { ...collector.env, ...settingsOf(sealing, tokenSecret), NODE_EXTRA_CA_CERTS: writeCertificate(folder) },
	});
	if (proxy === undefined) throw new Error('no proxy');
	const { apiKey, platformKey } = await bootstrap(mesh.db);
	// That of the API is away, that of the sender wants its password.
	const redis = await startRedis({ password: S.redisPassword });
	await mesh.startReady('message-api', 'outbox-publisher', ['mail-sender', { REDIS_URL: redis.url }], 'dead-letter');
	const watched = await watchTopics(mesh.namespace);
	const said: Said = { answers: [], refusals: [], admin: { readiness: [], metrics: [] }, messages: watched.messages };
	const through = proxy;
	const ask = createAsk(mesh, apiKey, said);
	return {
		mesh,
		tokenSecret,
		proxy,
		witness: watched.witness,
		platformKey,
		secrets: {
			...S,
			apiKey: secretOf(apiKey),
			platformKey: secretOf(platformKey),
			sealingKey: sealing.toString('base64').slice(0, 40),
			sealingBytes: sealing.toString('hex'),
		},
		ask,
		get: async (path, asked) => {
			const { status, body } = await ask(path, asked);
			if (status >= 300) throw new Error(`${path} was answered ${status}: ${JSON.stringify(body)}`);
			return body;
		},
		ended: (id, status) => ended(mesh.db, id, status),
		probe: () => probe(mesh, said),
		outputs: () => outputsOf(mesh, collector, said),
		close: async () => {
			await watched.witness.close();
			await mesh.close();
			await through.close();
			await redis.stop();
			await collector.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

type Said = {
	/** But for those that show a key for its only time. */
	readonly answers: string[];
	/** Without pointers, which name a field as the caller has named it. */
	readonly refusals: string[];
	readonly admin: { readonly readiness: string[]; readonly metrics: string[] };
	readonly messages: readonly IncomingMessage[];
};

function settingsOf(sealing: Buffer, tokenSecret: string): Record<string, string> {
	return {
		OTEL_EXPORTER_OTLP_HEADERS: `x-key=${S.exportHeader}`,
		OTEL_LOG_LEVEL: 'all',
		LOG_LEVEL: 'trace',
		BROKER_TOKEN: S.brokerToken,
		TIDINGS_SECRET_KEYS: `k1:${sealing.toString('base64')}`,
		TIDINGS_RETRY_MAX_ATTEMPTS: '2',
		TIDINGS_JWT_ISSUER: 'https://issuer.example',
		TIDINGS_JWT_AUDIENCE: 'tidings',
		TIDINGS_JWT_SECRET: tokenSecret,
		TIDINGS_API_RATE_PER_SECOND: '1000',
		// Nobody listens there: it says so.
		REDIS_URL: `redis://:${S.redisPassword}@127.0.0.1:1`,
	};
}

function writeCertificate(folder: string): string {
	const path = join(folder, 'trusted.pem');
	writeFileSync(path, CERTIFICATE);
	return path;
}

async function watchTopics(namespace: string): Promise<{ witness: Broker; messages: IncomingMessage[] }> {
	const pulsar = await pulsarOfRun();
	const witness = await openBroker({ url: pulsar.replace(/^http/, 'ws'), adminUrl: pulsar, namespace });
	const places = [...topicsOf('mail-send'), ...deadLettersOf('mail-send')].map(({ topic }) => ({ topic, subscription: 'witness' }));
	await witness.ensureTopics(places);
	const messages: IncomingMessage[] = [];
	const onMessage = (message: IncomingMessage): void => {
		messages.push(message);
		message.ack();
	};
	for (const place of places) await witness.subscribe({ ...place, slots: 100, onMessage });
	return { witness, messages };
}

function createAsk(mesh: ProcessMesh, apiKey: string, said: Said): MarkedMesh['ask'] {
	return async (path, { method, key = apiKey, headers = {}, body, raw } = {}) => {
		const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
		const response = await fetch(`${mesh.services[0]?.api()}${path}`, {
			method: method ?? (sent === undefined ? 'GET' : 'POST'),
			headers: {
				authorization: `Bearer ${key}`,
				'content-type': 'application/json',
				'user-agent': `${C.headerText}@example.com`,
				...headers,
			},
			...(sent === undefined ? {} : { body: sent }),
		});
		const text = await response.text();
		const given: Given = { status: response.status, body: text === '' ? null : JSON.parse(text) };
		if (given.body?.key === undefined) said.answers.push(text);
		if (response.status >= 400) said.refusals.push(JSON.stringify(given.body, (name, value) => (name === 'pointer' ? '' : value)));
		return given;
	};
}

async function ended({ pool }: Db, id: string, wanted: string): Promise<void> {
	const reached = async (): Promise<boolean> => {
		const { rows } = await pool.query<{ status: string }>('select status from send_state where id = $1', [id]);
		if (rows[0]?.status !== wanted) throw new Error(`it is ${rows[0]?.status}`);
		return true;
	};
	await eventually(reached, { ...PATIENCE, what: `${id} to be ${wanted}` });
}

async function probe(mesh: ProcessMesh, { admin }: Said): Promise<void> {
	for (const one of mesh.services.filter(({ running }) => running)) {
		admin.readiness.push((await one.admin('/readyz')).text);
		admin.metrics.push((await one.admin('/metrics')).text);
	}
}

async function outputsOf(mesh: ProcessMesh, collector: OtlpCollector, said: Said): Promise<Record<string, string>> {
	await probe(mesh, said);
	const own = said.messages.filter(({ properties }) => properties['foreign'] === undefined);
	return {
		logs: mesh.services.flatMap(({ service, lines }) => lines.map((line) => `${service} ${JSON.stringify(line)}`)).join('\n'),
		readiness: said.admin.readiness.join('\n'),
		metrics: said.admin.metrics.join('\n'),
		spans: collector.raw(),
		messages: own.map(({ payload, properties }) => `${Buffer.from(payload).toString()} ${JSON.stringify(properties)}`).join('\n'),
		topics: await figuresOf(mesh.namespace, new Set(said.messages.map(({ topic }) => topic))),
		refusals: said.refusals.join('\n'),
		answers: said.answers.join('\n'),
		tables: await dumpTables(mesh.db),
	};
}

/** What the broker tells of its topics and their clients. Rejects when there was a message that the witness has not seen. */
async function figuresOf(namespace: string, seen: ReadonlySet<string>): Promise<string> {
	const admin = `${await pulsarOfRun()}/admin/v2/persistent`;
	const names = (await (await fetch(`${admin}/${namespace}`)).json()) as string[];
	const figures: string[] = [];
	for (const name of names) {
		const text = await (await fetch(`${admin}/${name.replace('persistent://', '')}/stats`)).text();
		const { msgInCounter } = JSON.parse(text) as { msgInCounter: number };
		if (msgInCounter > 0 && !seen.has(name.split('/').at(-1) ?? '')) throw new Error(`nobody has looked into ${name}`);
		figures.push(`${name} ${text}`);
	}
	return figures.join('\n');
}
/** Every row of every table as text, bytes in hex: what a backup holds. */
async function dumpTables({ pool }: Pick<Db, 'pool'>): Promise<string> {
	const { rows } = await pool.query<{ name: string }>(
		`select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
	);
	const tables: string[] = [];
	for (const { name } of rows) {
		const content = await pool.query<{ row: string }>(`select t::text as row from ${name} t`);
		tables.push(`${name}\n${content.rows.map(({ row }) => row).join('\n')}`);
	}
	return tables.join('\n');
}
