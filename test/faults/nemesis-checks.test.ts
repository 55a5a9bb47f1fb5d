import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { claimRecords, type Db, openDb, settleRecords } from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase, type TestDatabase } from '../harness/database.js';
import { acceptRecords, makeSender, newRecord, type Sender, settlementOf } from '../harness/records.js';
import { createChance } from './nemesis/chance.js';
import { brokenDelays } from './nemesis/check-delays.js';
import { brokenRates } from './nemesis/check-rates.js';
import { rowsOf } from './nemesis/tell-story.js';

// A check that can find nothing proves nothing.

let database: TestDatabase;
let db: Db;
let sender: Sender;
beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
});
beforeEach(async () => {
	sender = await makeSender(db);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

async function attempt(ids: readonly string[], to: 'SENT' | 'RETRY'): Promise<void> {
	const keys = ids.map((recordId) => ({ recordId, ...sender }));
	const { claimed } = await claimRecords(db.pool, keys, {
		channel: 'MAIL',
		route: 'mail-send',
		leaseSeconds: 60,
		worker: 'w',
		claim: newId(),
	});
	expect(claimed).toHaveLength(ids.length);
	await settleRecords(
		db.pool,
		claimed.map((record) => {
			const settlement = settlementOf(record, to);
			return to === 'SENT' ? { ...settlement, attempt: { ...settlement.attempt, providerMessageId: 'kept' } } : settlement;
		}),
	);
}

test('I5 an attempt that follows a refusal at once is told of; one that a person asked for is not', async () => {
	const [id = ''] = await acceptRecords(db, [newRecord(sender)]);
	await attempt([id], 'RETRY');
	await attempt([id], 'SENT');
	const pace = { baseSeconds: 60, leaseSeconds: 60 };
	expect(await brokenDelays(db, { ...pace, baseSeconds: 0 })).toEqual([]);
	expect(await brokenDelays(db, pace)).toEqual([expect.stringMatching(new RegExp(`^I5 ${id} was claimed for attempt 2 `))]);
	await db.prisma.auditEvent.create({
		data: {
			id: newId(),
			tenantId: sender.tenantId,
			actor: 'key:x',
			action: 'message.retry',
			subjectType: 'message',
			subjectId: id,
			detail: {},
			traceId: '0'.repeat(32),
		},
	});
	expect(await brokenDelays(db, pace)).toEqual([]);
});

test('I5 what a frozen sender wrote down after its lease was over says nothing of the attempt that came meanwhile', async () => {
	const [id = ''] = await acceptRecords(db, [newRecord(sender)]);
	await attempt([id], 'RETRY');
	await attempt([id], 'SENT');
	await db.pool.query(`update delivery_attempt set finished_at = started_at + interval '9 s' where id = $1 and attempt_no = 1`, [id]);
	expect(await brokenDelays(db, { baseSeconds: 60, leaseSeconds: 8 })).toEqual([]);
	expect(await brokenDelays(db, { baseSeconds: 60, leaseSeconds: 10 })).toHaveLength(1);
});

test('I7 more recipients than the minutes allow are told of; what came after the limit was lifted is not', async () => {
	const ids = await acceptRecords(
		db,
		Array.from({ length: 5 }, () => newRecord(sender)),
	);
	await attempt(ids, 'SENT');
	const limited = { configId: sender.configId, perMinute: 1, resets: 0, until: new Date(Date.now() + 60_000) };
	expect(await brokenRates(db, limited)).not.toEqual([]);
	expect(await brokenRates(db, { ...limited, resets: 5 })).toEqual([]);
	expect(await brokenRates(db, { ...limited, perMinute: 5 })).toEqual([]);
	expect(await brokenRates(db, { ...limited, until: new Date(0) })).toEqual([]);
});

test('the story of a record is told by every table that has something to say', async () => {
	const [id = ''] = await acceptRecords(db, [newRecord(sender)]);
	await attempt([id], 'RETRY');
	const told = new Set((await rowsOf(db, id)).map(({ text }) => text.split(' ')[0]));
	expect([...told].sort()).toEqual(['delivery_attempt', 'outbox_entry', 'send_recipient', 'send_record', 'send_state']);
});

test('the same seed draws the same', () => {
	const drawn = (seed: number): number[] => {
		const chance = createChance(seed);
		return Array.from({ length: 20 }, () => chance.between(1, 1_000));
	};
	expect(drawn(7)).toEqual(drawn(7));
	expect(drawn(7)).not.toEqual(drawn(8));
	expect(Math.min(...drawn(9))).toBeGreaterThanOrEqual(1);
	expect(Math.max(...drawn(9))).toBeLessThanOrEqual(1_000);
});
