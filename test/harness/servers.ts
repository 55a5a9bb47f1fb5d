import { startPostgres } from './postgres.js';
import { startRedis } from './redis.js';
import { offerPulsar, pulsarOfRun } from './run-pulsar.js';

/** What was started for this run; nothing that its caller has named. */
export type TestServers = { stop(): Promise<void> };

/**
 * Starts the one PostgreSQL, the one Redis and the one Pulsar of this run, unless the environment names servers, and puts their addresses there for the processes that come after.
 * `eager`: Pulsar is started now; otherwise when the first test asks for it, for who runs a few files may need none.
 */
export async function startServers({ eager }: { eager: boolean }): Promise<TestServers> {
	const started = await Promise.all([givePostgres(), giveRedis(), givePulsar(eager)]);
	return {
		stop: async () => {
			await Promise.all(started.map((one) => one?.stop()));
		},
	};
}

async function givePostgres(): Promise<TestServers | undefined> {
	if (process.env['TIDINGS_TEST_DATABASE_URL']) return undefined;
	const postgres = await startPostgres();
	process.env['TIDINGS_TEST_DATABASE_URL'] = postgres.url;
	return postgres;
}

async function giveRedis(): Promise<TestServers | undefined> {
	if (process.env['TIDINGS_TEST_REDIS_URL']) return undefined;
	const redis = await startRedis();
	process.env['TIDINGS_TEST_REDIS_URL'] = redis.url;
	return redis;
}

async function givePulsar(eager: boolean): Promise<TestServers | undefined> {
	if (process.env['TIDINGS_TEST_PULSAR_URL'] || process.env['TIDINGS_TEST_PULSAR_STARTER']) return undefined;
	const pulsar = await offerPulsar();
	process.env['TIDINGS_TEST_PULSAR_STARTER'] = pulsar.url;
	if (eager) process.env['TIDINGS_TEST_PULSAR_URL'] = await pulsarOfRun();
	return pulsar;
}
