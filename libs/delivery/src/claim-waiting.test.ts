import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Db, openDb } from '@tidings/db';
import { DEFAULT_RETRY, encodeEnvelope, monotonic } from '@tidings/model';
import { createLogger, createMetrics, startSpan } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../../../test/harness/records.js';
import { claimWaiting } from './claim-waiting.js';
import type { DeliveryContext } from './context.js';
import { newGateMemory } from './gate-memory.js';
import type { LinedMessage } from './message.js';
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
		provider: { channel: 'MAIL', name: 'smtp', prepare: () => Promise.reject(new Error('nothing is sent here')), probe: async () => null },
		limits: { take: async (_, requests) => requests.map(() => ({ room: [] })), giveBack: async () => undefined },
		probeSeconds: 30,
		route: 'mail-send',
		worker: 'tester',
		slots: 1,
		leaseSeconds: 120,
		deadlineSeconds: 90,
		policyOf: () => DEFAULT_RETRY,
		messagingSystem: 'none',
		log: createLogger({ service: 'test', level: 'fatal' }),
		metrics: createMetrics({ service: 'test', version: '0', processMetrics: false }),
		onAway: () => undefined,
		persist,
		persistLimits: persist,
		gates: newGateMemory(),
		isAway: () => false,
		stopping: () => false,
		cut: new AbortController().signal,
		last: new AbortController().signal,
	};
}

async function messageOf(acks: string[], nacks: string[] = []): Promise<LinedMessage> {
	const [recordId = ''] = await acceptRecords(db, [newRecord(sender)]);
	const envelope = { recordId, tenantId: sender.tenantId, traceId: '0'.repeat(32) };
	return {
		...envelope,
		configId: sender.configId,
		configVersion: 1,
		ownerId: sender.tenantId,
		perMinute: null,
		perDay: null,
		cost: 1,
		lane: 'normal',
		topic: 'mail-send-normal',
		messageId: `message of ${recordId}`,
		payload: encodeEnvelope(envelope),
		span: startSpan('process', '', { kind: 'consumer', attributes: {} }),
		ack: () => void acks.push(recordId),
		nack: () => void nacks.push(recordId),
		letGo: () => undefined,
		receivedAt: monotonic(),
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

test('K36 a second message of a record that is claimed is stale and acknowledged', async () => {
	const acks: string[] = [];
	const context = contextWith((act) => act());
	const message = await messageOf(acks);
	expect(await claimWaiting(context, [message, message])).toHaveLength(1);
	expect(acks).toEqual([message.recordId]);
	expect(await claimWaiting(context, [message])).toEqual([]);
	expect(acks).toHaveLength(2);
});

test('when the answer to a claim is lost, the repeated claim finds what the first one got: the same attempt, with nothing burnt', async () => {
	let tries = 0;
	const persist: Persist = async (act) => {
		const lost = await act();
		tries += 1;
		return tries === 1 ? await persist(act) : lost;
	};
	const acks: string[] = [];
	const message = await messageOf(acks);
	const context = contextWith(persist);
	const [claimed] = await claimWaiting(context, [message]);
	expect(claimed?.record).toMatchObject({ id: message.recordId, attemptNo: 1, budgetUsed: 0 });
	expect(acks).toEqual([]);
	const { rows } = await db.pool.query('select status, attempt_no, version from send_state where id = $1', [message.recordId]);
	expect(rows).toEqual([{ status: 'SENDING', attempt_no: 1, version: claimed?.record.version }]);
	expect(await claimWaiting(context, [message])).toEqual([]);
	expect(acks).toEqual([message.recordId]);
});

test('a record that makes the claiming statement fail is handed back and counted alone; its neighbours are claimed', async () => {
	const [acks, nacks]: [string[], string[]] = [[], []];
	const messages = await Promise.all(Array.from({ length: 5 }, () => messageOf(acks, nacks)));
	const bad = messages[3]?.recordId ?? '';
	await breakClaimsOf(bad);
	const context = contextWith((act) => act());
	for (let nack = 1; nack <= 4; nack += 1) {
		const claimed = await claimWaiting(context, nack === 1 ? messages : messages.filter((one) => one.recordId === bad));
		expect(claimed).toHaveLength(nack === 1 ? 4 : 0);
		expect(nacks).toEqual(Array.from({ length: nack }, () => bad));
		expect((await db.pool.query('select nacks from outbox_entry where id = $1', [bad])).rows).toEqual([{ nacks: nack }]);
	}
	expect(acks).toEqual([]);
	await claimWaiting(
		context,
		messages.filter((one) => one.recordId === bad),
	);
	expect([nacks.length, acks]).toEqual([4, [bad]]);
	const { rows } = await db.pool.query(
		`select s.status, s.budget_used, l.source, l.topic, l.message_id, l.envelope, l.error, l.tenant_id = s.tenant_id as own,
			(select count(*)::int from outbox_entry where id = s.id) as entries
		from send_state s join dead_letter_message l on l.record_id = s.id where s.id = $1`,
		[bad],
	);
	expect(rows).toEqual([
		{
			status: 'DEAD_LETTER',
			budget_used: 0,
			source: 'BROKER_POISON',
			topic: 'mail-send-normal',
			message_id: `message of ${bad}`,
			envelope: expect.stringContaining(bad),
			error: 'handling failed 5 times: error P0001',
			own: true,
			entries: 0,
		},
	]);
});

/** From now on the database refuses every claim of this record, in words that hold an address. */
async function breakClaimsOf(id: string): Promise<void> {
	await db.pool.query(`
		create function refuse_claim() returns trigger language plpgsql as $$
			begin if new.status = 'SENDING' and new.id = '${id}' then raise exception 'no claim for ann@example.com'; end if; return new; end $$;
		create trigger refuse_claim before update on send_state for each row execute function refuse_claim()`);
}
