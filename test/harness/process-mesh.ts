import { randomBytes } from 'node:crypto';
import { type Db, openDb } from '@tidings/db';
import { bootstrap } from '@tidings/message-api';
import { type Lane, newId, topicOf } from '@tidings/model';
import { createDatabase } from './database.js';
import { eventually } from './eventually.js';
import { type Failpoints, makeFailpoints } from './failpoints.js';
import { brokenPromises } from './invariants.js';
import { type LogLine, type ServiceName, type ServiceProcess, startService } from './mesh-process.js';
import { createNamespace } from './namespace.js';
import { redisOfRun } from './redis.js';
import { type SinkOptions, type SmtpSink, startSmtpSink } from './smtp-sink.js';
import { createSubmitter, type Submitter } from './submit.js';

/** Where the mesh's parts are, when not the run's own. */
export type ProcessMeshOptions = {
	/** Any database of the PostgreSQL to use; the mesh makes one of its own there. */
	readonly server?: string;
	/** A Pulsar of the test's own; it gets a namespace there once it answers. Default: the run's. */
	readonly pulsar?: { readonly webUrl: string };
	/** How the services get at the two, such as through a proxy: given the real addresses, answers those to use. */
	readonly through?: (real: Addresses) => Promise<Addresses>;
	/** How the sink behaves. */
	readonly sink?: SinkOptions;
	/** Services as they were built, without failpoints. Default: from the sources. */
	readonly built?: boolean;
	/** Further settings of every service, over `QUICK_SETTINGS`. */
	readonly settings?: Readonly<Record<string, string>>;
};

/** The addresses that services are given. */
export type Addresses = { readonly databaseUrl: string; readonly brokerUrl: string };

/** The mesh as it is in production: PostgreSQL, Pulsar, and each service a process. Nobody works yet; the sink is in this process. */
export type ProcessMesh = {
	readonly db: Db;
	readonly databaseUrl: string;
	/** The real one, past any proxy. */
	readonly brokerUrl: string;
	readonly namespace: string;
	readonly sink: SmtpSink;
	readonly failpoints: Failpoints;
	readonly tenantId: string;
	readonly submitter: Submitter;
	/** Starts a service; any number of each. */
	start(service: ServiceName, settings?: Readonly<Record<string, string>>): ServiceProcess;
	/** Starts services side by side and resolves when all are ready. */
	startReady(...services: readonly (ServiceName | readonly [ServiceName, Readonly<Record<string, string>>])[]): Promise<ServiceProcess[]>;
	readonly services: readonly ServiceProcess[];
	/** Ends every process of that name, or all. */
	stop(service?: ServiceName): Promise<void>;
	/** A mail server at the sink, made through the API, that becomes the default or is pinned by its id. */
	addServer(options?: { ambiguous?: 'resend' | 'hold'; default?: boolean }): Promise<string>;
	/** How many messages the senders' subscription of a lane has not acknowledged; those of the dead-letter topic with `dead`. */
	backlog(options?: { lane?: Lane; dead?: boolean }): Promise<number>;
	/** Resolves when no record is under way and no outbox row is left. */
	drained(within?: number): Promise<void>;
	/** Every promise that does not hold (after `drained`), with what else callers may be told. */
	broken(): Promise<string[]>;
	/** The last lines of each process, for a failure; only of those that were started from the `from`th on, or still run. */
	tail(from?: number): string;
	close(): Promise<void>;
};

/** Sooner than in production, so that a test waits less; everything else is as it is by default. */
const QUICK_SETTINGS: Readonly<Record<string, string>> = {
	TIDINGS_ALLOW_PRIVATE_HOSTS: 'true',
	TIDINGS_HTTP_PORT: '0',
	TIDINGS_ADMIN_PORT: '0',
	TIDINGS_LEASE_SECONDS: '8',
	TIDINGS_SEND_DEADLINE_SECONDS: '4',
	TIDINGS_PUBLISH_LEASE_SECONDS: '12',
	TIDINGS_SWEEP_SECONDS: '1',
	TIDINGS_HEAL_SECONDS: '5',
	TIDINGS_POLL_MILLISECONDS: '200',
	TIDINGS_RETRY_BASE_SECONDS: '0.2',
	TIDINGS_PROBE_SECONDS: '0.3',
};

/** Leases as in production, for tests in which nobody dies: a machine that is busy with many processes makes none of them lose its record. */
export const CALM_SETTINGS: Readonly<Record<string, string>> = { TIDINGS_LEASE_SECONDS: '120', TIDINGS_SEND_DEADLINE_SECONDS: '90' };

/** As in production, by default: for measurements. */
export const PRODUCTION_SETTINGS: Readonly<Record<string, string>> = {
	...CALM_SETTINGS,
	TIDINGS_PUBLISH_LEASE_SECONDS: '30',
	TIDINGS_SWEEP_SECONDS: '15',
	TIDINGS_HEAL_SECONDS: '600',
	TIDINGS_POLL_MILLISECONDS: '500',
	TIDINGS_RETRY_BASE_SECONDS: '30',
	TIDINGS_PROBE_SECONDS: '30',
};

/** What stands in every mail and must stand in no line. */
export const SECRETS = ['secret-mailbox', 'Secret subject', 'Secret body'] as const;

/** Makes a mesh with its first tenant; its API and its mail server come with the first `start('message-api')` and `addServer()`. */
export async function makeProcessMesh(options: ProcessMeshOptions = {}): Promise<ProcessMesh> {
	const database = await createDatabase(options.server);
	const namespace = await createNamespace(options.pulsar?.webUrl);
	const real = { databaseUrl: database.url, brokerUrl: namespace.wsUrl };
	const given = (await options.through?.(real)) ?? real;
	const db = openDb({ url: database.url, name: 'test', connections: 4 });
	const { tenantId, apiKey } = await bootstrap(db);
	const sink = await startSmtpSink(options.sink);
	const failpoints = makeFailpoints();
	const services: ServiceProcess[] = [];
	const common = {
		DATABASE_URL: given.databaseUrl,
		BROKER_URL: given.brokerUrl,
		BROKER_NAMESPACE: namespace.namespace,
		PULSAR_ADMIN_URL: new URL(given.brokerUrl.replace(/^ws/, 'http')).origin,
		TIDINGS_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
		REDIS_URL: options.settings?.['REDIS_URL'] ?? redisOfRun(),
		TIDINGS_FAILPOINTS: failpoints.folder,
		...QUICK_SETTINGS,
		...options.settings,
	};
	const apis = () => services.filter((one) => one.service === 'message-api' && one.running).flatMap((one) => one.api() ?? []);
	const submitter = createSubmitter({ apis, apiKey, secrets: SECRETS });
	const mesh: ProcessMesh = {
		db,
		databaseUrl: database.url,
		brokerUrl: namespace.wsUrl,
		namespace: namespace.namespace,
		sink,
		failpoints,
		tenantId,
		submitter,
		services,
		start: (service, settings = {}) => {
			const one = startService(service, { ...common, ...settings }, { built: options.built ?? false });
			services.push(one);
			return one;
		},
		startReady: async (...names) => {
			const started = names.map((one) => (typeof one === 'string' ? mesh.start(one) : mesh.start(...one)));
			await Promise.all(started.map((one) => one.ready()));
			return started;
		},
		stop: async (service) => {
			await Promise.all(
				services.filter((one) => one.running && (service === undefined || one.service === service)).map((one) => one.kill()),
			);
		},
		addServer: async ({ ambiguous = 'resend', default: isDefault = true } = {}) => {
			const { body } = await submitter.call('/v1/mail-servers', {
				name: `sink ${newId()}`,
				host: sink.host,
				port: sink.port,
				security: 'none',
				from: { address: 'shop@example.com', name: 'Shop' },
				default: isDefault,
				ambiguous,
				active: true,
			});
			return body.id;
		},
		backlog: async ({ lane = 'normal', dead = false } = {}) => {
			const topic = `persistent/${namespace.namespace}/${topicOf('mail-send', lane)}${dead ? '-DLQ' : ''}`;
			const response = await fetch(`${namespace.adminUrl}/admin/v2/${topic}/stats?getPreciseBacklog=true`);
			const stats = (await response.json()) as { subscriptions: Record<string, { msgBacklog: number } | undefined> };
			const backlog = stats.subscriptions[dead ? 'dead-letter' : 'mail-sender']?.msgBacklog;
			if (backlog === undefined) throw new Error(`nobody has subscribed to ${topic}`);
			return backlog;
		},
		drained: async (within = 120_000) => {
			let open = '';
			const empty = async (): Promise<boolean> => {
				open = await openWork(db);
				return open === '';
			};
			await eventually(empty, { within, what: 'everything to drain' }).catch((cause: Error) => {
				throw new Error(`${cause.message}: ${open}`, { cause });
			});
		},
		broken: async () => [
			...submitter.faults,
			...(await brokenPromises({ db, answered: submitter.answered, mails: sink.mails, lines: linesOf(services), secrets: SECRETS })),
		],
		tail: (from = 0) =>
			services
				.filter((one, n) => n >= from || one.running)
				.map(tailOf)
				.join('\n'),
		close: async () => {
			await mesh.stop();
			await sink.close();
			failpoints.drop();
			await db.close();
			await database.drop();
			await namespace.drop();
		},
	};
	return mesh;
}

/** What is under way, in words; empty when nothing is. */
async function openWork(db: Db): Promise<string> {
	const { rows } = await db.pool.query<{ what: string; n: number }>(`
		select status as what, count(*)::int as n from send_state where status in ('PENDING', 'RETRY', 'SENDING') group by 1
		union all select 'outbox ' || status, count(*)::int from outbox_entry group by 1`);
	return rows.map(({ what, n }) => `${n} ${what}`).join(', ');
}

function linesOf(services: readonly ServiceProcess[]): LogLine[] {
	return services.flatMap((one) => one.lines);
}

const TAIL = 10;

function tailOf(one: ServiceProcess): string {
	const head = `── ${one.service} ${one.pid}${one.running ? '' : ', ended'}, ${one.lines.length} lines`;
	return [head, ...one.lines.slice(-TAIL).map((line) => JSON.stringify(line).slice(0, 400))].join('\n');
}
