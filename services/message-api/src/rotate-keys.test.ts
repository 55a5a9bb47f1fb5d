import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Keyring, keyIdOf, open, parseKeys, seal } from '@tidings/crypto';
import { type Db, openDb, SEALED_COLUMNS } from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { type Rotation, rotateKeys } from './rotate-keys.js';
import { createServer } from './servers/create-server.js';

const TABLE = 'mail_send_server_config';
const K1 = `k1:${randomBytes(32).toString('base64')}`;
const K2 = `k.2:${randomBytes(32).toString('base64')}`;
const OLD = parseKeys(K1);
const BOTH = parseKeys(`${K2},${K1}`);
const NEW = parseKeys(K2);

let database: TestDatabase;
let db: Db;
let lines: string[];
beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
});
afterAll(async () => {
	await db.close();
	await database.drop();
});
beforeEach(async () => {
	lines = [];
	await db.pool.query(`truncate ${TABLE}`);
});

/** Makes a server of a tenant of its own; its password is its name. */
async function make(keyring: Keyring): Promise<{ id: string; tenantId: string; name: string }> {
	const tenantId = newId();
	const name = newId();
	await db.prisma.tenant.create({ data: { id: tenantId, name: tenantId } });
	const context = { db, keyring, allowPrivateHosts: true, actor: 'test', traceId: newId() };
	const { id } = await createServer(context, tenantId, {
		name,
		host: '127.0.0.1',
		port: 25,
		security: 'none',
		username: 'u',
		password: name,
		from: { address: 'hello@example.com' },
	});
	return { id, tenantId, name };
}
const makeMany = async (keyring: Keyring, n: number) => await Promise.all(Array.from({ length: n }, () => make(keyring)));
const rotate = (keyring: Keyring, change: { dryRun?: boolean; batch?: number; pool?: Db['pool'] } = {}): Promise<Rotation> =>
	rotateKeys({ pool: db.pool, keyring, dryRun: false, report: (line) => void lines.push(line), ...change });
/** The pool with another way to ask it. */
const withQuery = (query: (...args: unknown[]) => Promise<unknown>): Db['pool'] => Object.assign(Object.create(db.pool), { query });
const sealedOf = async (id: string): Promise<string> =>
	String((await db.prisma.mailSendServerConfig.findUniqueOrThrow({ where: { id } })).passwordSealed);
const opened = async (keyring: Keyring, { id, tenantId }: { id: string; tenantId: string }): Promise<string> =>
	open(keyring, await sealedOf(id), { tenantId, table: TABLE, column: 'password_sealed', rowId: id });
const sealedRows = async () => (await db.pool.query(`select id, password_sealed, version, updated_at from ${TABLE} order by id`)).rows;

test('every sealed column of the database is among those that are rotated', async () => {
	const { rows } = await db.pool.query(
		`select table_name, column_name from information_schema.columns where column_name like '%\\_sealed'`,
	);
	const found = rows.map((row) => `${row.table_name}.${row.column_name}`).sort();
	expect(found).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort());
});

test('every secret of every tenant is sealed with the newest key, over several batches, and nothing else of its row changes', async () => {
	const servers = await makeMany(OLD, 7);
	const newer = await make(NEW);
	const before = await sealedRows();
	expect(await rotate(BOTH, { batch: 3 })).toEqual({ rotated: 7, left: 0, failed: 0, byKey: { 'k.2': 8 } });
	for (const one of [...servers, newer]) expect(await opened(NEW, one)).toBe(one.name);
	const after = await sealedRows();
	expect(after.map(({ id, version, updated_at }) => ({ id, version, updated_at }))).toEqual(
		before.map(({ id, version, updated_at }) => ({ id, version, updated_at })),
	);
	expect(await rotate(BOTH)).toEqual({ rotated: 0, left: 0, failed: 0, byKey: { 'k.2': 8 } });
	expect(await sealedRows()).toEqual(after);
});

test('a dry run only counts', async () => {
	await makeMany(OLD, 2);
	await make(NEW);
	const before = await sealedRows();
	expect(await rotate(BOTH, { dryRun: true })).toEqual({ rotated: 0, left: 2, failed: 0, byKey: { k1: 2, 'k.2': 1 } });
	expect(await sealedRows()).toEqual(before);
});

test('a run that breaks off is finished by the next', async () => {
	await makeMany(OLD, 6);
	let statements = 0;
	const query = async (...args: unknown[]): Promise<unknown> => {
		statements += 1;
		if (statements > 3) throw new Error('gone');
		return await Reflect.apply(db.pool.query, db.pool, args);
	};
	await expect(rotate(BOTH, { batch: 2, pool: withQuery(query) })).rejects.toThrow('gone');
	expect(await rotate(BOTH, { dryRun: true })).toMatchObject({ left: 4, byKey: { k1: 4, 'k.2': 2 } });
	expect(await rotate(BOTH, { batch: 2 })).toEqual({ rotated: 4, left: 0, failed: 0, byKey: { 'k.2': 6 } });
});

test('several runs at once do each secret once', async () => {
	const servers = await makeMany(OLD, 12);
	const runs = await Promise.all([1, 2, 3].map(() => rotate(BOTH, { batch: 4 })));
	expect(runs.reduce((sum, one) => sum + one.rotated, 0)).toBe(12);
	for (const run of runs) expect(run).toMatchObject({ left: 0, failed: 0, byKey: { 'k.2': 12 } });
	for (const one of servers) expect(await opened(NEW, one)).toBe(one.name);
});

test('who changes a secret while it is rotated wins', async () => {
	const [server, bare, gone] = await Promise.all([make(OLD), make(OLD), make(OLD)]);
	let looked = false;
	/** Between the look and the swap: an API that still seals with the old key gives one another password, one loses its login, and one is deleted. */
	const interfere = async (): Promise<void> => {
		const fresh = seal(OLD, 'changed', { tenantId: server.tenantId, table: TABLE, column: 'password_sealed', rowId: server.id });
		await db.pool.query(`update ${TABLE} set password_sealed = $2 where id = $1`, [server.id, fresh]);
		await db.pool.query(`update ${TABLE} set password_sealed = null, username = null where id = $1`, [bare.id]);
		await db.pool.query(`delete from ${TABLE} where id = $1`, [gone.id]);
	};
	const query = async (...args: unknown[]): Promise<unknown> => {
		const result = await Reflect.apply(db.pool.query, db.pool, args);
		if (!looked) {
			looked = true;
			await interfere();
		}
		return result;
	};
	expect(await rotate(BOTH, { pool: withQuery(query) })).toEqual({ rotated: 1, left: 0, failed: 0, byKey: { 'k.2': 1 } });
	expect(await opened(NEW, server)).toBe('changed');
	expect(await db.prisma.mailSendServerConfig.findUniqueOrThrow({ where: { id: bare.id } })).toMatchObject({ passwordSealed: null });
	expect(await db.prisma.mailSendServerConfig.count({ where: { id: gone.id } })).toBe(0);
});

test('a rotation that meets a dead-lock with somebody who changes two servers goes on and leaves nothing behind', async () => {
	const servers = (await makeMany(OLD, 2)).sort((a, b) => (a.id < b.id ? -1 : 1));
	const [first, second] = servers;
	const other = await db.pool.connect();
	const lock = (id?: string) => other.query(`select from ${TABLE} where id = $1 for no key update`, [id]);
	try {
		await other.query(`begin; set local deadlock_timeout = '1min'`);
		await lock(second?.id);
		const rotating = rotate(BOTH);
		await eventually(
			async () =>
				(await db.pool.query(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).rowCount,
			{ what: 'the rotation to wait' },
		);
		await lock(first?.id);
		await other.query('commit');
		expect(await rotating).toEqual({ rotated: 2, left: 0, failed: 0, byKey: { 'k.2': 2 } });
	} finally {
		other.release();
	}
	for (const one of servers) expect(await opened(NEW, one)).toBe(one.name);
});

test('what does not open is named by row and key id, is left as it is, and the others go on', async () => {
	const lost = parseKeys(`k0:${randomBytes(32).toString('base64')}`);
	const wrong = parseKeys(`k1:${randomBytes(32).toString('base64')}`);
	const missing = await make(lost);
	const foreign = await make(wrong);
	const [good, thief] = await Promise.all([make(OLD), make(OLD)]);
	await db.pool.query(`update ${TABLE} set password_sealed = $2 where id = $1`, [thief.id, await sealedOf(good.id)]);
	const before = await Promise.all([missing, foreign, thief].map((one) => sealedOf(one.id)));
	expect(await rotate(BOTH)).toEqual({ rotated: 1, left: 0, failed: 3, byKey: { k0: 1, k1: 2, 'k.2': 1 } });
	expect(lines.sort()).toEqual(
		[
			`${TABLE}.password_sealed ${missing.id}: needs the key k0`,
			`${TABLE}.password_sealed ${foreign.id}: does not open with the key k1`,
			`${TABLE}.password_sealed ${thief.id}: does not open with the key k1`,
		].sort(),
	);
	expect(await Promise.all([missing, foreign, thief].map((one) => sealedOf(one.id)))).toEqual(before);
	expect(await opened(NEW, good)).toBe(good.name);
});

test('a newest key that is another under the same id is noticed', async () => {
	await make(NEW);
	const impostor = parseKeys(`k.2:${randomBytes(32).toString('base64')},${K1}`);
	expect(await rotate(impostor)).toEqual({ rotated: 0, left: 0, failed: 1, byKey: { 'k.2': 1 } });
});

const MAIN = join(import.meta.dirname, 'rotate-keys-main.ts');
/** Runs the command with these settings. */
async function run(settings: Record<string, string>, ...flags: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
	const program = ['--conditions=tidings-source', '--import', 'tsx', MAIN, ...flags];
	const env = { PATH: process.env['PATH'], ...settings };
	const done = (code: number) => (out: { stdout: string; stderr: string }) => ({ code, stdout: out.stdout, stderr: out.stderr });
	return await promisify(execFile)(process.execPath, program, { env }).then(done(0), (error) => done(error.code)(error));
}

test('the command prints its count as the last line, names what fails, and says by its code whether all is well', async () => {
	const servers = await makeMany(OLD, 2);
	const settings = { DATABASE_URL: database.url, TIDINGS_SECRET_KEYS: `${K2},${K1}` };
	const dry = await run(settings, '--dry-run');
	expect([dry.code, JSON.parse(dry.stdout.trim())]).toEqual([0, { rotated: 0, left: 2, failed: 0, byKey: { k1: 2 } }]);
	const lost = await make(parseKeys(`k0:${randomBytes(32).toString('base64')}`));
	const { code, stdout } = await run(settings);
	const [line = '', last = ''] = stdout.trim().split('\n');
	expect([code, JSON.parse(last)]).toEqual([1, { rotated: 2, left: 0, failed: 1, byKey: { k0: 1, 'k.2': 2 } }]);
	expect(JSON.parse(line).msg).toBe(`${TABLE}.password_sealed ${lost.id}: needs the key k0`);
	for (const one of servers) expect(keyIdOf(await sealedOf(one.id))).toBe('k.2');
});

test('the command explains itself, and checks its settings without a database', async () => {
	const [help, checked, faulty, flag] = await Promise.all([
		run({}, '--help'),
		run({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', TIDINGS_SECRET_KEYS: K1 }, '--check-config'),
		run({ TIDINGS_SECRET_KEYS: 'k1:short' }, '--check-config'),
		run({}, '--wet-run'),
	]);
	expect([help.code, help.stdout]).toEqual([0, expect.stringMatching(/--dry-run.*TIDINGS_SECRET_KEYS.*LOG_LEVEL/s)]);
	expect(checked.code).toBe(0);
	expect([faulty.code, faulty.stderr]).toEqual([78, expect.stringMatching(/DATABASE_URL.*TIDINGS_SECRET_KEYS/s)]);
	expect(flag.code).toBe(64);
});
