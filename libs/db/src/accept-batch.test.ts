import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../../../test/harness/records.js';
import { type Db, openDb } from './client.js';
import { wasCommitted } from './statements/was-committed.js';

let database: TestDatabase;
let db: Db;
let sender: Sender;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
	sender = await makeSender(db);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

test('five hundred records with twenty attachments each are accepted in one transaction', async () => {
	const attachments = Array.from({ length: 20 }, (_, n) => ({
		filename: `${n}.txt`,
		contentType: 'text/plain',
		contentId: null,
		content: Buffer.from(`${n}`),
	}));
	const ids = await acceptRecords(
		db,
		Array.from({ length: 500 }, () => newRecord(sender, { attachments })),
	);
	const { rows } = await db.pool.query('select count(*)::int as n, count(distinct id)::int as records from attachment where id = any($1)', [
		ids,
	]);
	expect(rows).toEqual([{ n: 10_000, records: 500 }]);
});

test('F17 after a COMMIT without an answer the outcome is looked up only once the backend has ended its work', async () => {
	const record = newRecord(sender);
	const client = await db.pool.connect();
	const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
	await client.query('begin');
	const asked = wasCommitted(db.pool, rows[0]?.pid ?? 0, [record.id]);
	await client.query(
		`insert into send_record (id, tenant_id, channel, type, scope, lane, route, trace_id, traceparent) values ($1, $2, 'MAIL', 'mail', 'TENANT', 'normal', 'mail-send', 'x', 'x')`,
		[record.id, sender.tenantId],
	);
	await client.query('commit');
	client.release();
	expect(await asked).toBe(true);
	expect(await wasCommitted(db.pool, 2 ** 30, [newRecord(sender).id])).toBe(false);
});
