import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { startPostgres, type TestPostgres } from '../../../test/harness/postgres.js';
import { type Db, openDb } from './client.js';

let postgres: TestPostgres;
let db: Db;
beforeAll(async () => {
	postgres = await startPostgres();
	db = openDb({ url: postgres.url, name: 'test', connections: 4 });
}, 60_000);
afterAll(async () => {
	await db.close();
	await postgres.stop();
});

test.each(['fast', 'immediate'] as const)(
	'K25 a database that restarts (%s) under idle connections ends no process, and hands out none that is dead',
	async (mode) => {
		const held = await Promise.all(Array.from({ length: 4 }, () => db.pool.connect()));
		for (const client of held) client.release();
		expect(db.connections()).toEqual({ idle: 4, busy: 0, waiting: 0 });
		await postgres.restart(mode);
		await eventually(() => db.connections().idle === 0, { what: 'the dead connections to be dropped' });
		const answers = await Promise.all(Array.from({ length: 8 }, () => db.pool.query<{ one: number }>('select 1 as one')));
		expect(answers.map(({ rows }) => rows[0]?.one)).toEqual(Array(8).fill(1));
		await db.ping();
	},
);
