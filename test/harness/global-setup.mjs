import { register } from 'tsx/esm/api';

register();
const { startPostgres } = await import('./postgres.ts');
const { offerPulsar, pulsarOfRun } = await import('./run-pulsar.ts');

/** Starts the one PostgreSQL and the one Pulsar of this run, unless its caller names servers. Workers read the addresses from the environment. */
export default async function setUp({ nonFlagArgs }) {
	if (process.channel) {
		// The runner is gone, also by kill -9: end here too, and with this process what it has started.
		process.on('disconnect', () => process.exit(1));
		process.channel.unref();
	}
	const postgres = async () => {
		if (process.env.TIDINGS_TEST_DATABASE_URL) return;
		globalThis.tidingsPostgres = await startPostgres();
		process.env.TIDINGS_TEST_DATABASE_URL = globalThis.tidingsPostgres.url;
	};
	const pulsar = async () => {
		if (process.env.TIDINGS_TEST_PULSAR_URL) return;
		globalThis.tidingsPulsar = await offerPulsar();
		process.env.TIDINGS_TEST_PULSAR_STARTER = globalThis.tidingsPulsar.url;
		// Who runs a few files only may need none, and gets it when one of them asks.
		if (nonFlagArgs.length === 0) process.env.TIDINGS_TEST_PULSAR_URL = await pulsarOfRun();
	};
	await Promise.all([postgres(), pulsar()]);
}
