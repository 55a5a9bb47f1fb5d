import { join } from 'node:path';
import type { Keyring } from '@tidings/crypto';
import { type Db, dbPart, endLeases, migrate, openDb } from '@tidings/db';
import type { Bootstrapped } from '@tidings/message-api';
import type { Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { type Catcher, startCatcher } from './catcher/start-catcher.js';
import { checkPort } from './check-port.js';
import type { Flags } from './config.js';
import { lockDataDir } from './database/lock.js';
import { startDatabase } from './database/start-database.js';
import { keepCatcherServer } from './keep-catcher-server.js';
import { keepCredentials } from './keep-credentials.js';
import { keepSecretKeys } from './keep-secret-keys.js';

/** What the services of this process stand on. `parts` run already; they are stopped last, in reverse. */
export type Ground = {
	readonly db: Db;
	readonly databaseUrl: string;
	readonly keyring: Keyring;
	readonly catcher: Catcher;
	readonly credentials: Bootstrapped;
	readonly parts: readonly Part[];
};

/**
 * Brings up what production has outside: the data folder, the database with its tables, the mail catcher, the first tenant. Safe to repeat over what a killed run left.
 * Rejects with a sentence for the person who started it, after stopping what was started.
 */
export async function prepare(flags: Flags, file: string, { log, metrics }: { log: Logger; metrics: Metrics }): Promise<Ground> {
	const stops: (() => void | Promise<void>)[] = [];
	try {
		const lock = lockDataDir(flags.dataDir);
		stops.push(lock.release);
		await checkPort(flags.port, '--port');
		await checkPort(flags.adminPort, '--admin-port');
		const database = await startDatabase({ dataDir: flags.dataDir, log });
		stops.push(database.stop);
		await migrate({ url: database.url, log: (line) => log.info({ line }, 'migrating') });
		const catcher = await startCatcher({ dataDir: flags.dataDir, smtpPort: flags.smtpPort, webPort: flags.mailPort, log });
		stops.push(catcher.close);
		const db = openDb({ url: database.url, name: 'standalone', connections: 20, log });
		stops.push(db.close);
		const keyring = keepSecretKeys(flags.dataDir);
		const credentials = await keepCredentials(db, file);
		await keepCatcherServer(db, keyring, credentials.tenantId, catcher.smtpPort);
		// The lock says that nobody else works on this database: whoever held a lease is dead.
		await endLeases(db.pool);
		const parts = [
			running('data folder', lock.release),
			running('database', database.stop),
			running('mail catcher', catcher.close),
			dbPart(db, metrics),
		];
		return { db, databaseUrl: database.url, keyring, catcher, credentials, parts };
	} catch (error) {
		for (const stop of stops.reverse()) await stop();
		throw error;
	}
}

function running(name: string, stop: () => void | Promise<void>): Part {
	return { name, start: async () => undefined, stop: async () => await stop() };
}

/** The file that tells what runs where. */
export function factsFile(flags: Flags): string {
	return join(flags.dataDir, 'standalone.json');
}
