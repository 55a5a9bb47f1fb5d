import type { LogLine, ServiceProcess } from '../../harness/mesh-process.js';
import { startPostgres, type TestPostgres } from '../../harness/postgres.js';
import { makeProcessMesh, type ProcessMesh } from '../../harness/process-mesh.js';
import { startPulsar, type TestPulsar } from '../../harness/pulsar.js';
import { startRedis, type TestRedis } from '../../harness/redis.js';
import { type SinkMail, type SmtpSink, startSmtpSink } from '../../harness/smtp-sink.js';

/** Recipients a minute of the server that has a limit. */
export const PER_MINUTE = 60;

/** The mail servers that mails go through, by what is special about them. */
export type Servers = Readonly<Record<'plain' | 'hold' | 'limited' | 'dead' | 'quiet', string>>;

/** All that is broken, and what is at stake: servers of our own, every service in two processes, five mail servers. */
export type Ground = {
	readonly mesh: ProcessMesh;
	readonly postgres: TestPostgres;
	readonly pulsar: TestPulsar;
	readonly redis: TestRedis;
	readonly servers: Servers;
	/** The sink that takes a log-in, and is the server that says `hold`. */
	readonly guarded: SmtpSink;
	/** Nobody breaks this one: its mails show whether others cost it anything. */
	readonly quiet: SmtpSink;
	/** The host that goes away, and comes back at the same port. */
	readonly host: { leave(): Promise<void>; comeBack(): Promise<void> };
	/** Every mail that any sink has accepted. */
	mails(): readonly SinkMail[];
	lines(): readonly LogLine[];
	/** Those that a signal holds: they are left alone until they go on. */
	readonly held: Set<ServiceProcess>;
	close(): Promise<void>;
};

const LOGIN = { username: 'shop', password: 'a good password' };

/** Starts everything. */
export async function makeGround(): Promise<Ground> {
	const [postgres, pulsar, redis] = await Promise.all([startPostgres({ fsync: true }), startPulsar(), startRedis()]);
	const mesh = await makeProcessMesh({ server: postgres.url, pulsar, settings: { REDIS_URL: redis.url } });
	const [guarded, quiet] = await Promise.all([startSmtpSink({ login: LOGIN }), startSmtpSink()]);
	const hosts = [await startSmtpSink()];
	const port = hosts[0]?.port ?? 0;
	await mesh.startReady('message-api', 'message-api', 'outbox-publisher', 'outbox-publisher', 'mail-sender', 'mail-sender', 'dead-letter');
	const add = async (name: string, change: object): Promise<string> => {
		const from = { address: 'shop@example.com', name: 'Shop' };
		const { body } = await mesh.submitter.call('/v1/mail-servers', {
			name,
			host: '127.0.0.1',
			security: 'none',
			from,
			default: false,
			...change,
		});
		return body.id;
	};
	const servers = {
		plain: await add('plain', { port: mesh.sink.port, default: true }),
		hold: await add('hold', { port: guarded.port, ...LOGIN, ambiguous: 'hold' }),
		limited: await add('limited', { port: mesh.sink.port, ratePerMinute: PER_MINUTE }),
		dead: await add('dead', { port }),
		quiet: await add('quiet', { port: quiet.port }),
	};
	return {
		mesh,
		postgres,
		pulsar,
		redis,
		servers,
		guarded,
		quiet,
		host: {
			leave: async () => await hosts.at(-1)?.close(),
			comeBack: async () => void hosts.push(await startSmtpSink({ port })),
		},
		mails: () => [mesh.sink, guarded, quiet, ...hosts].flatMap((sink) => sink.mails),
		lines: () => mesh.services.flatMap((one) => one.lines),
		held: new Set(),
		close: async () => {
			await mesh.close();
			await Promise.all([guarded, quiet, ...hosts.slice(-1)].map((sink) => sink.close()));
			await Promise.all([postgres.stop(), pulsar.stop(), redis.stop()]);
		},
	};
}
