import { type Broker, openBroker } from '@tidings/broker';
import { type Db, openDb } from '@tidings/db';
import { type DeadLetterOptions, deadLetterParts } from '@tidings/dead-letter';
import { createMemoryWindows } from '@tidings/limits';
import { type MailSenderOptions, mailSenderParts } from '@tidings/mail-sender';
import { DEFAULT_RETRY } from '@tidings/model';
import { outboxPublisherParts, type PublisherOptions, RELAY_DEFAULTS } from '@tidings/outbox-publisher';
import { type Part, startParts, stopParts } from '@tidings/runtime';
import { createLogger, createMetrics, type Metrics } from '@tidings/telemetry';
import { createDatabase } from './database.js';

/** The core of the mesh in this process: a database of its own, the embedded broker, publishers and senders. */
export type Mesh = {
	readonly db: Db;
	readonly url: string;
	readonly broker: Broker;
	/** Every line that was logged, parsed. */
	readonly lines: readonly Record<string, unknown>[];
	/** Of all that works here. */
	readonly metrics: Metrics;
	/** Adds publishers, senders and archivers of dead letters; several of each may be at work at once. */
	publish(change?: Partial<PublisherOptions>): Promise<Running>;
	send(change?: Partial<MailSenderOptions>): Promise<Running>;
	archive(change?: Partial<DeadLetterOptions>): Promise<Running>;
	/** Stops everything that was added, and drops the database. */
	close(): Promise<void>;
};

/** Parts at work. */
export type Running = {
	/** Stops in at most so many seconds; default 20. */
	stop(withinSeconds?: number): Promise<void>;
};

/** A mail sender as its settings make it by default; only that servers on this machine may be dialled, and that credentials are not sealed. */
export const SENDER_DEFAULTS: Omit<MailSenderOptions, 'db' | 'broker' | 'log' | 'metrics' | 'limits'> = {
	openSecret: (sealed) => sealed,
	allowPrivateHosts: true,
	leaseSeconds: 120,
	deadlineSeconds: 90,
	connectSeconds: 5,
	readSeconds: 30,
	slots: 20,
	probeSeconds: 30,
	inHand: 5_000,
	policyOf: () => DEFAULT_RETRY,
};

/** Makes a mesh at which nobody works yet, on a fresh database (or on `databaseUrl`, which is then not dropped). */
export async function makeMesh(databaseUrl?: string): Promise<Mesh> {
	const database = databaseUrl === undefined ? await createDatabase() : { url: databaseUrl, drop: async () => undefined };
	const lines: Record<string, unknown>[] = [];
	const log = createLogger({ service: 'test', level: 'info', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const db = openDb({ url: database.url, name: 'mesh', connections: 10 });
	const broker = await openBroker({ url: 'embedded:', namespace: 'public/default' });
	const limits = createMemoryWindows();
	const running = new Set<Running>();
	const run = async (parts: readonly Part[]): Promise<Running> => {
		const started = await startParts(parts, { log });
		const one: Running = {
			stop: async (withinSeconds = 20) => {
				if (running.delete(one)) await stopParts(started, { log, deadlineSeconds: withinSeconds });
			},
		};
		running.add(one);
		return one;
	};
	return {
		db,
		url: database.url,
		broker,
		lines,
		metrics,
		publish: (change = {}) =>
			run(
				outboxPublisherParts({
					db,
					databaseUrl: database.url,
					broker,
					log,
					metrics,
					pollMs: 200,
					sweepSeconds: 0.2,
					healSeconds: 600,
					relay: RELAY_DEFAULTS,
					...change,
				}),
			),
		send: (change = {}) =>
			run(
				mailSenderParts({
					db,
					broker,
					log,
					metrics,
					limits,
					...SENDER_DEFAULTS,
					...change,
				}),
			),
		archive: (change = {}) => run(deadLetterParts({ db, databaseUrl: database.url, broker, log, metrics, ...change })),
		close: async () => {
			for (const one of [...running].reverse()) await one.stop();
			await broker.close();
			await db.close();
			await database.drop();
		},
	};
}
