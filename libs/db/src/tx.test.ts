import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { type Db, openDb } from './client.js';
import { inTransaction, troubleOf } from './tx.js';

let database: TestDatabase;
const open: Db[] = [];

/** Connections whose sessions have these settings. */
function openWith(settings: string): Db {
	const url = new URL(database.url);
	url.searchParams.set('options', settings);
	const db = openDb({ url: url.href, name: 'test' });
	open.push(db);
	return db;
}

let plain: Db;
beforeAll(async () => {
	database = await createDatabase();
	plain = openWith('');
	await plain.pool.query('create table counter (id int primary key, n int not null)');
});
beforeEach(async () => {
	await plain.pool.query('truncate counter');
	await plain.pool.query('insert into counter values (1, 0), (2, 0)');
});
afterAll(async () => {
	for (const db of open) await db.close();
	await database.drop();
});

const counts = async (): Promise<number[]> => (await plain.pool.query('select n from counter order by id')).rows.map(({ n }) => n);

/** Resolves for all who come when so many have come; later ones are let through. */
function meeting(of: number): () => Promise<void> {
	let come = 0;
	let open: () => void = () => undefined;
	const met = new Promise<void>((resolve) => {
		open = resolve;
	});
	return async () => {
		come += 1;
		if (come >= of) open();
		await met;
	};
}

test('F18 40001: of writers who read what the other writes each is run whole until it is alone, and no step is lost', async () => {
	const db = openWith('-c default_transaction_isolation=serializable');
	const together = meeting(2);
	let runs = 0;
	const add = () =>
		inTransaction(db.pool, async (client) => {
			runs += 1;
			const { rows } = await client.query<{ sum: number }>('select sum(n)::int as sum from counter');
			await together();
			await client.query('update counter set n = $1 where id = 1', [(rows[0]?.sum ?? 0) + 1]);
		});
	await Promise.all([add(), add()]);
	expect(await counts()).toEqual([2, 0]);
	expect(runs).toBe(3);
});

test('F18 40P01: two transactions that lock in swapped order both end, the victim run again whole', async () => {
	const together = meeting(2);
	let runs = 0;
	const add = (first: number, second: number) =>
		inTransaction(plain.pool, async (client) => {
			runs += 1;
			await client.query('update counter set n = n + 1 where id = $1', [first]);
			await together();
			await client.query('update counter set n = n + 1 where id = $1', [second]);
		});
	await Promise.all([add(1, 2), add(2, 1)]);
	expect(await counts()).toEqual([2, 2]);
	expect(runs).toBe(3);
});

test('F18 55P03: a lock that is not given in time is asked for again, in whole transactions, until it is free', async () => {
	const db = openWith('-c lock_timeout=20ms');
	const holder = await plain.pool.connect();
	await holder.query('begin');
	await holder.query('select from counter where id = 2 for update');
	let runs = 0;
	const added = inTransaction(db.pool, async (client) => {
		runs += 1;
		await client.query('update counter set n = n + 1 where id = 1');
		await client.query('update counter set n = n + 1 where id = 2');
	});
	await eventually(() => runs > 1, { what: 'a second run' });
	await holder.query('rollback');
	holder.release();
	await added;
	expect(await counts()).toEqual([1, 1]);
});

test.each(['40001', '40P01', '55P03'])('F18 what ends in %s every time is given up after five runs, and leaves nothing', async (code) => {
	let runs = 0;
	const ended = inTransaction(plain.pool, async (client) => {
		runs += 1;
		await client.query('update counter set n = n + 1 where id = 1');
		await client.query(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`);
	});
	await expect(ended).rejects.toMatchObject({ code });
	expect(await ended.catch(troubleOf)).toBe('retryable');
	expect([runs, await counts()]).toEqual([5, [0, 0]]);
	expect(plain.connections()).toMatchObject({ busy: 0, waiting: 0 });
});

test.each([
	['53100', 'a disk is full'],
	['25006', 'it may only be read'],
])('F20 %s: while %s a database counts as away, at once, and leaves nothing', async (code) => {
	let runs = 0;
	const ended = inTransaction(plain.pool, async (client) => {
		runs += 1;
		await client.query('update counter set n = n + 1 where id = 1');
		await client.query(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`);
	});
	expect(await ended.catch(troubleOf)).toBe('away');
	expect([runs, await counts()]).toEqual([1, [0, 0]]);
});
