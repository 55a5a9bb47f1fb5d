import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import pg from 'pg';
import { processMark } from './process-mark.js';
import { startDatabase } from './start-database.js';

const silent = createLogger({ service: 'test', level: 'silent' });
const isRoot = process.getuid?.() === 0;
let dataDir = '';
let children: ChildProcess[] = [];

beforeEach(() => {
	dataDir = mkdtempSync(join(tmpdir(), 'tidings-database-'));
	chmodSync(dataDir, 0o755);
});

afterEach(() => {
	for (const child of children) child.kill('SIGKILL');
	children = [];
	rmSync(dataDir, { recursive: true, force: true });
});

async function query(url: string, sql: string): Promise<unknown[]> {
	const client = new pg.Client(url);
	await client.connect();
	try {
		return (await client.query(sql)).rows;
	} finally {
		await client.end();
	}
}

test('data outlive a kill -9 of the process that holds the database, whose server the next start replaces', async () => {
	const script = `
		import { startDatabase } from ${JSON.stringify(fileURLToPath(new URL('./start-database.ts', import.meta.url)))};
		import { createLogger } from '@tidings/telemetry';
		const log = createLogger({ service: 'test', level: 'silent' });
		console.log((await startDatabase({ dataDir: ${JSON.stringify(dataDir)}, log })).url);`;
	const tsx = createRequire(import.meta.url).resolve('tsx');
	const args = ['--conditions=tidings-source', '--import', tsx, '--input-type=module', '-e', script];
	const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
	children.push(child);
	const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
	await query(url, 'create table kept as select 7 as n');
	const orphan = Number(readFileSync(join(dataDir, 'database', 'postmaster.pid'), 'utf8').split('\n')[0]);
	const ended = once(child, 'exit');
	child.kill('SIGKILL');
	await ended;
	expect(processMark(orphan)).toBeDefined();

	const database = await startDatabase({ dataDir, log: silent });
	expect(processMark(orphan)).toBeUndefined();
	expect(await query(database.url, 'select n from kept')).toEqual([{ n: 7 }]);
	await database.stop();
	await database.stop();
	expect(existsSync(join(dataDir, 'database', 'postmaster.pid'))).toBe(false);
});

test('the server is safe and private: durable writes, one address, a secret only the owner reads, replaced when lost', async () => {
	const first = await startDatabase({ dataDir, log: silent });
	const settings = await query(
		first.url,
		"select name, setting from pg_settings where name in ('fsync', 'listen_addresses', 'max_connections', 'unix_socket_directories') order by name",
	);
	expect(settings).toEqual([
		{ name: 'fsync', setting: 'on' },
		{ name: 'listen_addresses', setting: '127.0.0.1' },
		{ name: 'max_connections', setting: '100' },
		{ name: 'unix_socket_directories', setting: '' },
	]);
	await expect(query(first.url.replace(/:[0-9a-f]+@/, ':wrong@'), 'select 1')).rejects.toThrow('password authentication failed');
	await first.stop();
	const secret = join(dataDir, 'database.secret');
	expect(statSync(secret).mode & 0o777).toBe(0o600);

	rmSync(secret);
	// The pid file of a dead server whose pid is a stranger's by now: this very process.
	writeFileSync(join(dataDir, 'database', 'postmaster.pid'), `${process.pid}\n${join(dataDir, 'database')}\n`);
	const second = await startDatabase({ dataDir, log: silent });
	expect(second.url.split('@')[0]).not.toBe(first.url.split('@')[0]);
	expect(await query(second.url, "select lower('ÄÖ張') as word, current_database() as name")).toEqual([{ word: 'äö張', name: 'tidings' }]);
	await expect(startDatabase({ dataDir: join(dataDir, 'other'), log: silent, port: second.port })).rejects.toThrow(`Port ${second.port}`);
	await second.stop();
});

test('a folder that the database cannot use is explained, with its path and the flag', async () => {
	const folder = join(dataDir, 'database');
	mkdirSync(folder);
	writeFileSync(join(folder, 'holiday.jpg'), '');
	await expect(startDatabase({ dataDir, log: silent })).rejects.toThrow(
		`${folder} is not empty and holds no database of Tidings. Move it away, or choose another folder with --data-dir.`,
	);
	writeFileSync(join(folder, 'PG_VERSION'), '15\n');
	await expect(startDatabase({ dataDir, log: silent })).rejects.toThrow(
		/holds a database of PostgreSQL 15, and this Tidings brings PostgreSQL \d+.*--data-dir/,
	);
	await expect(startDatabase({ dataDir: join(folder, 'PG_VERSION'), log: silent })).rejects.toThrow(
		/PG_VERSION cannot be used: it is a file.*--data-dir/,
	);
});

(isRoot ? test : test.skip)('started as root, a data folder under a closed one is refused before anything is made', async () => {
	const closed = join(dataDir, 'closed');
	mkdirSync(closed, { mode: 0o700 });
	await expect(startDatabase({ dataDir: join(closed, 'data'), log: silent })).rejects.toThrow(
		`may not enter ${closed}, so the data folder ${join(closed, 'data')} cannot be used`,
	);
	expect(existsSync(join(closed, 'data', 'database.secret'))).toBe(false);
});
