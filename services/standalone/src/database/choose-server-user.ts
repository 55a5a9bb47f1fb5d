import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '@tidings/telemetry';

/** Whom the database runs as; empty = as we do. */
export type ServerUser = { uid: number; gid: number } | Record<string, never>;

/**
 * PostgreSQL refuses to run as root: then it runs as the owner of the existing database folder, else as user `postgres`, which is made when
 * there is none. Anyone else runs it as themselves.
 */
export function chooseServerUser(folder: string, log: Logger): ServerUser {
	if (process.getuid?.() !== 0) return {};
	const owner = statSync(folder, { throwIfNoEntry: false });
	if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
	const known = lookUpPostgres();
	if (known !== undefined) return known;
	log.info({ user: 'postgres' }, 'making the system user that the database runs as');
	const made = spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'], {
		encoding: 'utf8',
	});
	const user = lookUpPostgres();
	if (user !== undefined) return user;
	throw new Error(
		`PostgreSQL does not run as root, and the system user "postgres" cannot be made (${made.error?.message ?? made.stderr.trim()}). Start Tidings as a normal user.`,
	);
}

/** The first folder on the way to `path` that the user cannot enter, or undefined when all can be entered. */
export function blockedFolder(path: string, user: ServerUser): string | undefined {
	const way = [path];
	for (let step = path; dirname(step) !== step; step = dirname(step)) way.unshift(dirname(step));
	if (canEnter(path, user)) return undefined;
	return way.find((step) => !canEnter(step, user)) ?? path;
}

// Asked of the system by doing it, since modes alone miss access lists, mounts and groups.
function canEnter(path: string, user: ServerUser): boolean {
	return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', path], { ...user, cwd: '/', stdio: 'ignore' }).status === 0;
}

function lookUpPostgres(): { uid: number; gid: number } | undefined {
	try {
		const ask = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
		return { uid: ask('-u'), gid: ask('-g') };
	} catch {
		return undefined;
	}
}
