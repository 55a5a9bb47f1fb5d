import { spawn } from 'node:child_process';
import { chownSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { randomBytes } from '@tidings/model';
import { DATABASE_ENV, type Programs } from './find-programs.js';
import type { PreparedFolder } from './prepare-folder.js';

/** The database's owner and the database: one name for both. */
export const NAME = 'tidings';

/**
 * Makes the database when there is none yet, and returns the password of its owner, kept in `<dataDir>/database.secret` (0600). A lost secret
 * is replaced. It is made beside its place and renamed when it is whole, so that a run killed in the middle leaves nothing that looks ready.
 */
export async function initialiseDatabase(place: PreparedFolder, programs: Programs): Promise<string> {
	const known = readSecret(place.dataDir);
	const secret = known ?? Buffer.from(randomBytes(24)).toString('hex');
	if (place.isNew) await make(place, programs, secret);
	else if (known === undefined) await runSingle({ folder: place.folder, place, programs, sql: `alter role ${NAME} password '${secret}'` });
	if (known === undefined) writeDurably(join(place.dataDir, 'database.secret'), `${secret}\n`);
	return secret;
}

async function make(place: PreparedFolder, programs: Programs, secret: string): Promise<void> {
	const fresh = join(place.dataDir, 'database.new');
	const passwordFile = join(place.dataDir, 'database.password');
	for (const left of [fresh, passwordFile]) rmSync(left, { recursive: true, force: true });
	mkdirSync(fresh, { mode: 0o700 });
	writeFileSync(passwordFile, `${secret}\n`, { mode: 0o600, flag: 'wx' });
	if (place.user.uid !== undefined) for (const path of [fresh, passwordFile]) chownSync(path, place.user.uid, place.user.gid);
	try {
		await run(programs.initdb, {
			place,
			args: [
				...['-D', fresh, '-U', NAME, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8'],
				// The built-in locale knows upper and lower case of all scripts and sorts by code point, the same on every machine.
				...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
			],
		});
	} finally {
		rmSync(passwordFile, { force: true });
	}
	await runSingle({ folder: fresh, place, programs, sql: `create database ${NAME}` });
	rmSync(place.folder, { recursive: true, force: true });
	renameSync(fresh, place.folder);
}

// The server without a network, for one statement: no client is needed, and nobody else can be connected.
async function runSingle(options: { folder: string; place: PreparedFolder; programs: Programs; sql: string }): Promise<void> {
	const { folder, place, programs, sql } = options;
	const said = await run(programs.postgres, { place, args: ['--single', '-D', folder, 'postgres'], input: `${sql}\n` });
	if (/\b(ERROR|FATAL|PANIC):/.test(said)) throw new Error(`The database in ${folder} refused to be set up: ${said.trim()}`);
}

async function run(program: string, options: { place: PreparedFolder; args: string[]; input?: string }): Promise<string> {
	const { dataDir, user } = options.place;
	const child = spawn(program, options.args, { ...user, cwd: dataDir, env: DATABASE_ENV, stdio: ['pipe', 'pipe', 'pipe'] });
	child.stdin.on('error', () => {}); // It may end before it has read everything: its exit code says so.
	child.stdin.end(options.input ?? '');
	const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
	const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
	if (code !== 0) throw new Error(`The database in ${dataDir} cannot be made: ${(err || out).trim()}`);
	return `${out}\n${err}`;
}

function readSecret(dataDir: string): string | undefined {
	const file = join(dataDir, 'database.secret');
	const secret = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
	return /^[0-9a-f]{48}$/.test(secret) ? secret : undefined;
}

function writeDurably(file: string, content: string): void {
	const fresh = `${file}.new`;
	rmSync(fresh, { force: true });
	const handle = openSync(fresh, 'wx', 0o600);
	writeFileSync(handle, content);
	fsyncSync(handle);
	closeSync(handle);
	renameSync(fresh, file);
}
