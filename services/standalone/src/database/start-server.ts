import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonic } from '@tidings/model';
import { DATABASE_ENV, type Programs } from './find-programs.js';
import type { PreparedFolder } from './prepare-folder.js';

/** A server that accepts connections. */
export type Server = { child: ChildProcess; pid: number; port: number };

type Start = { place: PreparedFolder; programs: Programs; port: number };

const LOG_LIMIT_BYTES = 5_000_000;
const RETRY_MS = 10_000;

/**
 * Starts the server and returns once it accepts connections (after a crash it recovers first, however long that takes). Throws with the last
 * words of its log when it ends instead. Without a port it takes a free one.
 */
export async function startServer(options: { place: PreparedFolder; programs: Programs; port: number | undefined }): Promise<Server> {
	const { place, programs } = options;
	const deadline = monotonic() + RETRY_MS;
	for (;;) {
		const port = options.port ?? (await freePort());
		const said = await startOnce({ place, programs, port });
		if (typeof said !== 'string') return said;
		// Left-over workers of a killed server end within moments; a free port may be taken before the server binds it.
		const passing = said.includes('pre-existing shared memory block') || (options.port === undefined && said.includes('could not bind'));
		if (!passing || monotonic() > deadline) throw new Error(failure(options.port, place, said));
		await delay(200);
	}
}

function failure(port: number | undefined, place: PreparedFolder, said: string): string {
	if (port !== undefined && said.includes('could not bind')) return `Port ${port}, meant for the database, is taken.`;
	return `The database in ${place.folder} does not start; its log ${join(place.dataDir, 'database.log')} ends with: ${said.trim() || 'nothing'}`;
}

async function startOnce({ place, programs, port }: Start): Promise<Server | string> {
	const file = join(place.dataDir, 'database.log');
	const isLong = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES;
	const log = openSync(file, isLong ? 'w' : 'a', 0o600);
	const before = fstatSync(log).size;
	const settings = [
		'listen_addresses=127.0.0.1',
		'unix_socket_directories=',
		'max_connections=100',
		'logging_collector=off',
		'log_destination=stderr',
	];
	const args = ['-D', place.folder, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
	// A session of its own: Ctrl-C reaches all of ours, and the database has to outlive the parts that still write to it.
	const child = spawn(programs.postgres, args, {
		...place.user,
		cwd: place.dataDir,
		env: DATABASE_ENV,
		detached: true,
		stdio: ['ignore', log, log],
	});
	closeSync(log);
	let ended = false;
	child.once('error', () => (ended = true)).once('exit', () => (ended = true));
	while (!ended) {
		if (child.pid !== undefined && isReady(place.folder, child.pid)) return { child, pid: child.pid, port };
		await delay(10);
	}
	return readFrom(file, before);
}

// The eighth line of its pid file is the server's own word on how far it is.
function isReady(folder: string, pid: number): boolean {
	try {
		const lines = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n');
		return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
	} catch {
		return false;
	}
}

function readFrom(file: string, offset: number): string {
	const log = openSync(file, 'r');
	try {
		const bytes = Buffer.alloc(4_000);
		const size = fstatSync(log).size;
		const count = readSync(log, bytes, 0, bytes.length, Math.max(offset, size - bytes.length));
		return bytes.toString('utf8', 0, count);
	} finally {
		closeSync(log);
	}
}

async function freePort(): Promise<number> {
	const probe = createServer();
	await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, '127.0.0.1', resolve));
	const address = probe.address();
	await new Promise((resolve) => probe.close(resolve));
	if (address === null || typeof address === 'string') throw new Error('The system gave no free port.');
	return address.port;
}
