import { register } from 'tsx/esm/api';

register();
const { startPostgres } = await import('./postgres.ts');

/** Starts the one PostgreSQL of this run, unless its caller names a server. Workers read the address from the environment. */
export default async function setUp() {
	if (process.channel) {
		// The runner is gone, also by kill -9: end here too, and with this process its PostgreSQL.
		process.on('disconnect', () => process.exit(1));
		process.channel.unref();
	}
	if (process.env.TIDINGS_TEST_DATABASE_URL) return;
	const postgres = await startPostgres();
	process.env.TIDINGS_TEST_DATABASE_URL = postgres.url;
	globalThis.tidingsPostgres = postgres;
}
