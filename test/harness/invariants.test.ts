import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claimRecords, type Db, openDb, settleRecords } from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase, type TestDatabase } from './database.js';
import { brokenPromises, type Evidence } from './invariants.js';
import { acceptRecords, makeSender, newRecord, type Sender, settlementOf } from './records.js';

let database: TestDatabase;
let db: Db;
let sender: Sender;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test', connections: 2 });
	sender = await makeSender(db);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

const mail = (id: string, to = 'ann@example.com') => ({ messageId: `<${id}@example.com>`, from: '', to: [to], raw: Buffer.alloc(0) });

/** A record that was sent, by the tables alone. */
async function sent(): Promise<string> {
	const [id = ''] = await acceptRecords(db, [newRecord(sender)]);
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 60, worker: 'tester', claim: newId() } as const;
	const { claimed } = await claimRecords(db.pool, [{ recordId: id, tenantId: sender.tenantId, configId: sender.configId }], claimant);
	await settleRecords(
		db.pool,
		claimed.map((record) => settlementOf(record)),
	);
	return id;
}

test('the promises are kept by a record that was sent once, and each way to break one is found', async () => {
	const id = await sent();
	const good: Evidence = { db, answered: [id], mails: [mail(id)], lines: [{ msg: 'attempt settled' }], secrets: ['ann@'] };
	expect(await brokenPromises(good)).toEqual([]);
	const [unknown, line] = [newId(), { msg: 'send_state x: no move leads from SENT to RETRY' }];
	expect(await brokenPromises({ ...good, answered: [id, unknown] })).toEqual([`I1 ${unknown} was answered and is not there`]);
	expect(await brokenPromises({ ...good, mails: [] })).toEqual([`I1 ${id} is SENT and never arrived`]);
	expect(await brokenPromises({ ...good, mails: [mail(id), mail(id)] })).toEqual([
		`I2 ${id} ann@example.com was accepted 2 times, and 1 are allowed`,
	]);
	expect(await brokenPromises({ ...good, mails: [mail(id), mail(unknown)] })).toEqual([
		`I3 <${unknown}@example.com> was accepted and has no record`,
	]);
	expect(await brokenPromises({ ...good, lines: [line] })).toEqual([`I4 ${JSON.stringify(line)}`]);
	expect(await brokenPromises({ ...good, lines: [{ msg: 'to ann@example.com' }] })).toEqual([expect.stringMatching(/^I13/)]);
	expect(await brokenPromises({ ...good, mails: [mail(id), mail(id)], retries: new Map([[id, 1]]) })).toEqual([]);
	await db.pool.query('update delivery_attempt set ambiguous = true where id = $1', [id]);
	expect(await brokenPromises({ ...good, mails: [mail(id), mail(id)] })).toEqual([]);
	const [open = ''] = await acceptRecords(db, [newRecord(sender)]);
	expect(await brokenPromises(good)).toEqual([`I14 has not ended (${open}, PENDING)`, 'I14 1 outbox entries are NEW']);
	await db.pool.query('delete from outbox_entry where id = $1', [open]);
	await db.pool.query(
		`update send_state set status = 'DEAD_LETTER', version = version + 1, due_at = null, finished_at = now() where id = $1`,
		[open],
	);
	expect(await brokenPromises(good)).toEqual([`I10 has 0 open letters (${open}, DEAD_LETTER)`]);
	await db.pool.query('update tenant_message_usage set used = used + 1');
	expect(await brokenPromises(good)).toContainEqual(expect.stringMatching(/^I6 .* has used 3, and its records say 2$/));
});
