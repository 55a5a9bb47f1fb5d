import { accessSync, chmodSync, constants, mkdirSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/** Makes the data folder when there is none and returns its real path; throws a sentence when it cannot be made or written. */
export function openDataDir(dataDir: string): string {
	const folder = resolve(dataDir);
	try {
		// Other users may pass through (started as root, the database is another user's) but not look around; what is private is 0600 or 0700.
		if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o711);
		if (!statSync(folder).isDirectory()) throw new Error('it is a file');
		accessSync(folder, constants.W_OK | constants.X_OK);
		return realpathSync(folder);
	} catch (cause) {
		throw new Error(`The data folder ${folder} cannot be used: ${reason(cause)}. Choose another folder with --data-dir.`, { cause });
	}
}

function reason(cause: unknown): string {
	const { code, message } = cause as NodeJS.ErrnoException;
	if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or lies under one';
	if (code === 'EACCES' || code === 'EPERM') return 'this user may not write there';
	if (code === 'EROFS') return 'the disk is read-only';
	return message;
}
