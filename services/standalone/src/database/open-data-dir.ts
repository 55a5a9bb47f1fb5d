import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes the data folder when there is none and returns its real path; throws a sentence when it cannot be made or written. */
export function openDataDir(dataDir: string): string {
	const folder = resolve(dataDir);
	try {
		// Other users may pass through (started as root, the database is another user's) but not look around; what is private is 0600 or 0700.
		if (makeFolder(folder)) chmodSync(folder, 0o711);
		if (!statSync(folder).isDirectory()) throw new Error('it is a file, or lies under one');
		accessSync(folder, constants.W_OK | constants.X_OK);
		if (!isOurs(folder)) throw new Error('it holds other files, and not what Tidings keeps in one');
		return realpathSync(folder);
	} catch (cause) {
		throw new Error(`The data folder ${folder} cannot be used: ${reason(cause)}. Choose another folder with --data-dir.`, { cause });
	}
}

/** Whether the folder is empty or was a data folder before: what a start leaves in it comes to stand beside nobody else's files. */
function isOurs(folder: string): boolean {
	const names = readdirSync(folder);
	return (
		names.length === 0 ||
		names.some((name) => name === 'database' || name === 'mails' || name.startsWith('lock.') || name.startsWith('lock-'))
	);
}

/** Whether it had to be made. Step by step: `recursive` never ends in a place such as /proc, where nothing can be made and nothing says so. */
function makeFolder(folder: string): boolean {
	if (existsSync(folder)) return false;
	makeFolder(dirname(folder));
	mkdirSync(folder);
	return true;
}

function reason(cause: unknown): string {
	const { code, message } = cause as NodeJS.ErrnoException;
	if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or lies under one';
	if (code === 'EACCES' || code === 'EPERM') return 'this user may not write there';
	if (code === 'EROFS') return 'the disk is read-only';
	if (code === 'ENOENT') return 'nothing can be made there';
	return message;
}
