import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Db, openDb } from '@tidings/db';
import { DEFAULT_RETRY, monotonic } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../../../test/harness/records.js';
import { claimWaiting } from './claim-waiting.js';
import type { DeliveryContext } from './context.js';
import type { DeliveryMessage } from './message.js';
import type { Persist } from './persist.js';

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

function contextWith(persist: Persist): DeliveryContext {
	return {
		db,
		provider: { channel: 'MAIL', name: 'smtp', prepare: () => Promise.reject(new Error('nothing is sent here')) },
		route: 'mail-send',
		worker: 'tester',
		slots: 1,
		leaseSeconds: 120,
		deadlineSeconds: 90,
		policyOf: () => DEFAULT_RETRY,
		log: createLogger({ service: 'test', level: 'fatal' }),
		metrics: createMetrics({ service: 'test', version: '0', processMetrics: false }),
		onAway: () => undefined,
		persist,
	};
}

async function messageOf(acks: string[]): Promise<DeliveryMessage> {
	const [recordId = ''] = await acceptRecords(db, [newRecord(sender)]);
	return {
		recordId,
		tenantId: sender.tenantId,
		traceId: '0'.repeat(32),
		lane: 'normal',
		ack: () => void acks.push(recordId),
		nack: () => undefined,
		poison: () => undefined,
	};
}

test('after an outage the lease counts from the claim that was answered', async () => {
	let answered = 0;
	const persist: Persist = async (act) => {
		await Promise.reject(new Error('away')).catch(() => undefined);
		const failed = monotonic();
		await eventually(() => monotonic() - failed > 1);
		answered = monotonic();
		return await act();
	};
	const [claimed] = await claimWaiting(contextWith(persist), [await messageOf([])]);
	expect(claimed?.claimedAt).toBeGreaterThanOrEqual(answered);
});

test('a second message of a record that is claimed is stale and acknowledged', async () => {
	const acks: string[] = [];
	const context = contextWith((act) => act());
	const message = await messageOf(acks);
	expect(await claimWaiting(context, [message, message])).toHaveLength(1);
	expect(acks).toEqual([message.recordId]);
	expect(await claimWaiting(context, [message])).toEqual([]);
	expect(acks).toHaveLength(2);
});
