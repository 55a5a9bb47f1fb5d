import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { startProxy } from '../../../test/harness/tcp-proxy.js';
import { type Db, openDb } from './client.js';
import { inTransaction, troubleOf } from './tx.js';

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test', connections: 4 });
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

test('F17 K25 a connection that is cut in the middle of a statement, between statements, or idle ends no process, and the next statement gets another', async () => {
	const client = await db.pool.connect();
	const held = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
	const busy = db.pool.query('select pg_sleep(60)').then(
		() => 'answered' as const,
		(error: unknown) => troubleOf(error),
	);
	const cut = openDb({ url: database.url, name: 'killer', connections: 1 });
	await cut.pool.query('select pg_terminate_backend($1)', [held.rows[0]?.pid]);
	await expect(client.query('select 1')).rejects.toThrow();
	client.release(true);
	let cuts = 0;
	while (cuts === 0) {
		const { rowCount } = await cut.pool.query(
			`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like 'select pg_sleep%'`,
		);
		cuts = rowCount ?? 0;
	}
	expect(await busy).toBe('away');
	await cut.pool.query(
		'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
	);
	await cut.close();
	const { rows } = await db.pool.query('select 1 as one').catch(() => db.pool.query('select 1 as one'));
	expect(rows).toEqual([{ one: 1 }]);
});

test('F17 a database that falls silent while its connections stand is away, in a transaction too, and used again once it answers', async () => {
	const { hostname, port } = new URL(database.url);
	const proxy = await startProxy({ host: hostname, port: Number(port) });
	const url = new URL(database.url);
	url.port = String(proxy.port);
	const silent = openDb({ url: url.href, name: 'silent', connections: 2, answerMs: 300 });
	const one = (): Promise<{ rows: { one: number }[] }> => silent.pool.query<{ one: number }>('select 1 as one');
	expect((await one()).rows).toEqual([{ one: 1 }]);
	proxy.blackhole(true);
	const [alone, inside] = await Promise.allSettled([one(), inTransaction(silent.pool, (client) => client.query('select 1'))]);
	for (const ended of [alone, inside]) expect(ended.status === 'rejected' && troubleOf(ended.reason)).toBe('away');
	proxy.heal();
	expect((await one()).rows).toEqual([{ one: 1 }]);
	await silent.close();
	await proxy.close();
});

test('a pool that is closed has left no connection to the server', async () => {
	const closing = openDb({ url: database.url, name: 'closing', connections: 4 });
	let standing = 0;
	closing.pool.on('connect', (client) => {
		standing += 1;
		client.once('end', () => {
			standing -= 1;
		});
	});
	await Promise.all(Array.from({ length: 4 }, () => closing.pool.query('select 1')));
	expect(standing).toBe(4);
	await closing.close();
	expect(standing).toBe(0);
});

test('F17 a pool is closed also while its server is silent', async () => {
	const { hostname, port } = new URL(database.url);
	const proxy = await startProxy({ host: hostname, port: Number(port) });
	const url = new URL(database.url);
	url.port = String(proxy.port);
	const closing = openDb({ url: url.href, name: 'closing', connections: 1 });
	await closing.pool.query('select 1');
	proxy.blackhole(true);
	await closing.close();
	await proxy.close();
});
