import type { Logger } from '@tidings/telemetry';
import { findPrograms } from './find-programs.js';
import { initialiseDatabase, NAME } from './initialise-database.js';
import { prepareFolder } from './prepare-folder.js';
import { startServer } from './start-server.js';
import { endServer, stopOrphan } from './stop-orphan.js';

/** A running database: where to connect, and how to stop it (fast shutdown, waits until it is gone; a second call does nothing more). */
export type Database = { url: string; port: number; stop(): Promise<void> };

/**
 * Starts PostgreSQL out of the installed packages on `<dataDir>/database`, made at the first start, reachable on 127.0.0.1 alone. Its data
 * outlive a restart and a `kill -9`; a server left behind by a killed run is stopped first. `port` is any free one by default. The caller holds
 * the data folder's lock. Throws sentences meant for the person who started it; the server's own words are in `<dataDir>/database.log`.
 */
export async function startDatabase(options: { dataDir: string; log: Logger; port?: number }): Promise<Database> {
	const { log } = options;
	const programs = await findPrograms();
	const place = prepareFolder({ dataDir: options.dataDir, programs, log });
	await stopOrphan(place.folder, log);
	const secret = await initialiseDatabase(place, programs);
	const { child, pid, port } = await startServer({ place, programs, port: options.port });
	let stopped: Promise<void> | undefined;
	// A process that ends without stopping its parts takes the server along all the same; only a kill leaves it to the next start.
	const endWithUs = () => void child.kill('SIGINT');
	process.once('exit', endWithUs);
	child.once('exit', (code, signal) => {
		process.off('exit', endWithUs);
		if (stopped === undefined) log.error({ pid, code, signal }, 'the database server ended by itself');
	});
	log.info({ pid, port, folder: place.folder }, 'database started');
	return {
		url: `postgresql://${NAME}:${secret}@127.0.0.1:${port}/${NAME}`,
		port,
		stop: () => (stopped ??= endServer(pid)),
	};
}
