import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { assertSchema, migrate, schemaVersion } from './migrate.js';

let database: TestDatabase;
let client: pg.Client;
let directory: string;
const log = () => undefined;

beforeEach(async () => {
	database = await createEmptyDatabase();
	client = new pg.Client({ connectionString: database.url });
	await client.connect();
	directory = mkdtempSync(join(tmpdir(), 'tidings-migrations-'));
});

afterEach(async () => {
	await client.end();
	await database.drop();
	rmSync(directory, { recursive: true });
});

function write(name: string, sql: string): void {
	mkdirSync(join(directory, name), { recursive: true });
	writeFileSync(join(directory, name, 'migration.sql'), sql);
}

async function tables(): Promise<string[]> {
	const { rows } = await client.query(
		`select tablename from pg_tables where schemaname = 'public' and tablename <> '_prisma_migrations' order by 1`,
	);
	return rows.map((row) => row.tablename);
}

describe('migrate', () => {
	test('applies what is missing in order of the names, and tells it', async () => {
		write('0002_b', '-- expand\ncreate table b (a integer references a);');
		write('0001_a', '-- expand\ncreate table a (id integer primary key);');
		const lines: string[] = [];
		expect(await migrate({ url: database.url, directory, log: (line) => lines.push(line) })).toEqual(['0001_a', '0002_b']);
		expect(lines).toEqual(['applied 0001_a', 'applied 0002_b']);
		write('0003_c', '-- expand\ncreate table c ();');
		expect(await migrate({ client, directory, log })).toEqual(['0003_c']);
		expect(await migrate({ client, directory, log })).toEqual([]);
		expect(await tables()).toEqual(['a', 'b', 'c']);
	});

	test('keeps its history as Prisma does', async () => {
		const sql = '-- expand\ncreate table a ();';
		write('0001_a', sql);
		await migrate({ client, directory, log });
		const { rows } = await client.query('select *, length(id) as id_length from _prisma_migrations');
		expect(rows).toEqual([
			expect.objectContaining({
				id_length: 36,
				migration_name: '0001_a',
				checksum: createHash('sha256').update(sql).digest('hex'),
				rolled_back_at: null,
				applied_steps_count: 1,
				finished_at: expect.any(Date),
			}),
		]);
	});

	test('refuses an applied file that was edited, by its name, and applies nothing', async () => {
		write('0001_a', '-- expand\ncreate table a ();');
		await migrate({ client, directory, log });
		write('0001_a', '-- expand\ncreate table a (); ');
		write('0002_b', '-- expand\ncreate table b ();');
		await expect(migrate({ client, directory, log })).rejects.toThrow(/0001_a was edited/);
		expect(await tables()).toEqual(['a']);
	});

	test('leaves nothing of a file that fails, keeps those before it, and says where', async () => {
		write('0001_a', '-- expand\ncreate table a ();');
		write('0002_b', '-- expand\ncreate table b ();\n\nselect nonsense;');
		await expect(migrate({ client, directory, log })).rejects.toThrow(/0002_b failed: line 4: column "nonsense" does not exist \(42703\)/);
		expect(await tables()).toEqual(['a']);
		expect(await schemaVersion(client)).toBe('0001_a');
		write('0002_b', '-- expand\ncreate table b ();');
		expect(await migrate({ client, directory, log })).toEqual(['0002_b']);
	});

	test('applies once when two run at the same time', async () => {
		write('0001_a', '-- expand\ncreate table a ();');
		const both = await Promise.all([1, 2].map(() => migrate({ url: database.url, directory, log })));
		expect(both.sort((a, b) => a.length - b.length)).toEqual([[], ['0001_a']]);
	});

	test('does not lock itself out when two build an index at the same time', async () => {
		write('0001_a', '-- expand\ncreate table a (id integer);');
		write('0002_b', '-- expand\n-- no-transaction\nselect pg_sleep(0.3);\ncreate index concurrently a_id on a (id);');
		const both = await Promise.all([1, 2].map(() => migrate({ url: database.url, directory, log })));
		expect(both.flat()).toEqual(['0001_a', '0002_b']);
	});

	test('waits while another run holds the lock, and says so', async () => {
		write('0001_a', '-- expand\ncreate table a ();');
		const other = new pg.Client({ connectionString: database.url });
		await other.connect();
		await other.query(`select pg_advisory_lock(8434647)`);
		const waiting = deferred();
		const running = migrate({ client, directory, log: (line) => waiting.resolve(line) });
		expect(await waiting.promise).toBe('waiting for another run to end');
		expect(await tablesSeenBy(other)).toEqual([]);
		await other.end();
		expect(await running).toEqual(['0001_a']);
	});

	test('runs a file without a transaction statement by statement', async () => {
		write('0001_a', '-- expand\ncreate table a (id integer);');
		write(
			'0002_b',
			'-- expand\n-- no-transaction\ndrop index concurrently if exists a_id;\ncreate index concurrently a_id on a (id); -- why\n',
		);
		expect(await migrate({ client, directory, log })).toEqual(['0001_a', '0002_b']);
		const { rows } = await client.query(`select indexname from pg_indexes where tablename = 'a'`);
		expect(rows).toEqual([{ indexname: 'a_id' }]);
	});

	test('repeats a file without a transaction that has failed', async () => {
		write(
			'0001_a',
			'-- expand\n-- no-transaction\ncreate table if not exists a (id integer);\ncreate index concurrently b on a (nothing);',
		);
		await expect(migrate({ client, directory, log })).rejects.toThrow(/0001_a failed: column "nothing" does not exist/);
		expect(await schemaVersion(client)).toBeNull();
		write('0001_a', '-- expand\n-- no-transaction\ncreate table if not exists a (id integer);\ncreate index concurrently b on a (id);');
		expect(await migrate({ client, directory, log })).toEqual(['0001_a']);
	});

	test.each(['create table a ();', '-- contract\ndrop table a;', '-- expanding\ncreate table a ();'])(
		'refuses a file whose first line says nothing: %j',
		async (sql) => {
			write('0001_a', sql);
			await expect(migrate({ client, directory, log })).rejects.toThrow(/first line of 0001_a/);
			expect(await tables()).toEqual([]);
		},
	);

	test('brings an empty database to this release', async () => {
		const applied = await migrate({ client, log });
		expect(applied[0]).toBe('0001_core');
		expect(await schemaVersion(client)).toBe(applied.at(-1));
		await assertSchema(client);
	});
});

describe('assertSchema', () => {
	test('refuses an empty or older schema, and says what to run', async () => {
		write('0001_a', '-- expand\ncreate table a ();');
		await expect(assertSchema(client, directory)).rejects.toThrow('The database schema (empty) lacks 0001_a. Run: npm run migrate');
		await migrate({ client, directory, log });
		await assertSchema(client, directory);
		write('0002_b', '-- expand\ncreate table b ();');
		await expect(assertSchema(client, directory)).rejects.toThrow('The database schema (0001_a) lacks 0002_b. Run: npm run migrate');
	});

	test('works beside a newer schema until that contracts what this release needs', async () => {
		write('0001_a', '-- expand\ncreate table a (old integer);');
		const older = mkdtempSync(join(tmpdir(), 'tidings-migrations-'));
		mkdirSync(join(older, '0001_a'));
		writeFileSync(join(older, '0001_a/migration.sql'), readFileSync(join(directory, '0001_a/migration.sql')));

		write('0002_b', '-- expand\nalter table a add column new integer;');
		await migrate({ client, directory, log });
		await assertSchema(client, older);

		write('0003_c', '-- contract 0002_b\nalter table a drop column old;');
		await assertSchema(client, directory);
		await migrate({ client, directory, log });
		await assertSchema(client, directory);
		await expect(assertSchema(client, older)).rejects.toThrow('has gone past this release: 0003_c removed what it needs');
		rmSync(older, { recursive: true });
	});
});

describe('the command', () => {
	async function run(args: readonly string[], env: Record<string, string>): Promise<{ code: number | null; out: string; err: string }> {
		const main = join(import.meta.dirname, 'migrate-main.ts');
		const { DATABASE_URL: _url, DATABASE_URL_FILE: _file, ...rest } = process.env;
		const child = spawn(process.execPath, ['--conditions=tidings-source', '--import', 'tsx', main, ...args], { env: { ...rest, ...env } });
		const result = { out: '', err: '' };
		child.stdout.setEncoding('utf8').on('data', (text) => {
			result.out += text;
		});
		child.stderr.setEncoding('utf8').on('data', (text) => {
			result.err += text;
		});
		const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
		return { code, ...result };
	}

	test('migrates the database of DATABASE_URL, then of a file that names it', async () => {
		const first = await run([], { DATABASE_URL: database.url });
		expect(first).toMatchObject({ code: 0, err: '' });
		expect(first.out).toMatch(/^applied 0001_core\n/);
		const file = join(directory, 'url');
		writeFileSync(file, `${database.url}\n`);
		expect(await run([], { DATABASE_URL_FILE: file })).toEqual({ code: 0, err: '', out: 'Nothing to do: the schema is up to date.\n' });
	});

	test('explains itself, and every mistake in one line', async () => {
		expect(await run(['--help'], {})).toMatchObject({ code: 0, out: expect.stringContaining('DATABASE_URL_FILE') });
		expect(await run([], {})).toMatchObject({ code: 78, err: expect.stringMatching(/^DATABASE_URL is not set[^\n]*\n$/) });
		expect(await run(['--force'], {})).toMatchObject({ code: 64, err: expect.stringMatching(/^There is no argument --force[^\n]*\n$/) });
		expect(await run([], { DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' })).toMatchObject({
			code: 1,
			err: expect.stringMatching(/^[^\n]*ECONNREFUSED[^\n]*\n$/),
		});
	});
});

function deferred(): { promise: Promise<string>; resolve(line: string): void } {
	let resolve: (line: string) => void = log;
	const promise = new Promise<string>((done) => {
		resolve = done;
	});
	return { promise, resolve };
}

async function tablesSeenBy(other: pg.Client): Promise<string[]> {
	const { rows } = await other.query(`select tablename from pg_tables where schemaname = 'public'`);
	return rows.map((row) => row.tablename);
}
