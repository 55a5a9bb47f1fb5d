import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@tidings/telemetry';
import { blockedFolder, chooseServerUser, type ServerUser } from './choose-server-user.js';
import type { Programs } from './find-programs.js';
import { openDataDir } from './open-data-dir.js';

/** Where the database lies, whom it runs as, and whether it is yet to be initialised. */
export type PreparedFolder = { dataDir: string; folder: string; user: ServerUser; isNew: boolean };

/**
 * Checks up front that the database can live in `<dataDir>/database`, and throws a sentence that names the folder and the flag when it cannot:
 * not writable, not to be entered by the user that the database runs as, not ours, or of another major version.
 */
export function prepareFolder(options: { dataDir: string; programs: Programs; log: Logger }): PreparedFolder {
	const dataDir = openDataDir(options.dataDir);
	const folder = join(dataDir, 'database');
	const user = chooseServerUser(folder, options.log);
	checkReach(dataDir, user, options.programs);
	const isNew = checkContent(folder, options.programs.major);
	if (!isNew) checkOwner(folder);
	return { dataDir, folder, user, isNew };
}

function checkReach(dataDir: string, user: ServerUser, programs: Programs): void {
	if (user.uid === undefined) return;
	const blockedData = blockedFolder(dataDir, user);
	if (blockedData !== undefined) {
		throw new Error(
			`Started as root, Tidings runs the database as user ${nameOf(user.uid)}, who may not enter ${blockedData}, so the data folder ${dataDir} cannot be used. ` +
				'Choose a folder that every user may enter with --data-dir (for example --data-dir /var/lib/tidings), or start Tidings as a normal user.',
		);
	}
	const blockedPrograms = blockedFolder(programs.folder, user);
	if (blockedPrograms !== undefined) {
		throw new Error(
			`Started as root, Tidings runs the database as user ${nameOf(user.uid)}, who may not enter ${blockedPrograms}, above the database's programs in ${programs.folder}. ` +
				'Put Tidings into a folder that every user may enter (for example /opt/tidings), or start it as a normal user.',
		);
	}
}

function checkContent(folder: string, major: string): boolean {
	if (!existsSync(folder)) return true;
	if (!statSync(folder).isDirectory())
		throw new Error(`${folder} is a file where the database's folder should be. Move it away, or choose another folder with --data-dir.`);
	const names = listFolder(folder);
	if (names.length === 0) return true;
	if (!names.includes('PG_VERSION')) {
		throw new Error(
			`The folder ${folder} is not empty and holds no database of Tidings. Move it away, or choose another folder with --data-dir.`,
		);
	}
	const found = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
	if (found === major) return false;
	throw new Error(
		`The folder ${folder} holds a database of PostgreSQL ${found}, and this Tidings brings PostgreSQL ${major}. ` +
			'Start the Tidings it was made with, or begin a new one in another folder with --data-dir.',
	);
}

function listFolder(folder: string): string[] {
	try {
		return readdirSync(folder);
	} catch (cause) {
		checkOwner(folder);
		throw new Error(`The folder ${folder} cannot be read. Choose another folder with --data-dir.`, { cause });
	}
}

function checkOwner(folder: string): void {
	const owner = statSync(folder).uid;
	const own = process.getuid?.();
	if (own === undefined || own === 0 || owner === own) return;
	throw new Error(
		`The database in ${folder} belongs to user ${nameOf(owner)}. Start Tidings as that user (or as root), or choose another folder with --data-dir.`,
	);
}

function nameOf(uid: number): string {
	const line = existsSync('/etc/passwd')
		? readFileSync('/etc/passwd', 'utf8')
				.split('\n')
				.find((entry) => entry.split(':')[2] === String(uid))
		: undefined;
	return line?.split(':')[0] ?? String(uid);
}
