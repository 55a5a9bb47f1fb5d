import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Broker, OutgoingMessage } from '@tidings/broker';
import { DEFAULT_RETRY, random } from '@tidings/model';
import { brokenLaws, standingOf } from '../flow/standing.js';
import { eventually } from '../harness/eventually.js';
import { brokenPromises } from '../harness/invariants.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';

// F12, F13: a broker that is slow, repeats itself, mixes everything up and brings old messages again, in one process.

const QUICK = { ...DEFAULT_RETRY, baseSeconds: 0.1, jitter: 0 };
const PATIENCE = { within: 60_000 };

let mesh: Mesh;
let sink: SmtpSink;
let sender: Sender;

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	await mesh.send({ policyOf: () => QUICK });
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

const records = (count: number, change: Parameters<typeof newRecord>[1] = {}) =>
	Array.from({ length: count }, () => newRecord(sender, change));

async function drained(): Promise<void> {
	await eventually(
		async () => {
			const { rows } = await mesh.db.pool.query(`select from send_state where status in ('PENDING', 'RETRY', 'SENDING') limit 1`);
			return rows.length === 0;
		},
		{ ...PATIENCE, what: 'everything to end' },
	);
}

async function broken(answered: readonly string[]): Promise<string[]> {
	const lines = mesh.lines.map((line) => ({ ...line, msg: String(line['msg']) }));
	return await brokenPromises({ db: mesh.db, answered, mails: sink.mails, lines, secrets: ['ann@example.com', 'Hello, world'] });
}

function shuffled<T>(items: readonly T[]): T[] {
	return items
		.map((item) => ({ item, at: random() }))
		.sort((a, b) => a.at - b.at)
		.map(({ item }) => item);
}

test('F13 every message five times, in any order, and old ones again: one delivery each, and no claim before its time', async () => {
	const seen: OutgoingMessage[] = [];
	const babbling: Broker = {
		...portOf(mesh.broker),
		publish: async (messages) => {
			seen.push(...messages);
			const results = await mesh.broker.publish(messages);
			// The copies are nobody's to confirm; among them is all that was ever said.
			await mesh.broker.publish(shuffled([...messages, ...messages, ...messages, ...messages, ...seen.slice(-500)]));
			return results;
		},
	};
	const running = await mesh.publish({ broker: babbling });
	const later = sink.script({ stage: 'RCPT', times: 100, answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0' } });
	const ids = await acceptRecords(mesh.db, records(300));
	await drained();
	later.release();
	await running.stop();
	expect(sink.mails).toHaveLength(300);
	const { rows } = await mesh.db.pool.query(`
		select count(*)::int as early from delivery_attempt a join delivery_attempt b on b.id = a.id and b.attempt_no = a.attempt_no + 1
		where b.started_at < a.finished_at + interval '99 ms'`);
	expect(rows).toEqual([{ early: 0 }]);
	expect(await broken(ids)).toEqual([]);
});

test('F13 a message that comes before the record is due claims nothing and is acknowledged', async () => {
	const [id = ''] = await acceptRecords(mesh.db, records(1, { notBefore: new Date(Date.now() + 3_600_000) }));
	const payload = Buffer.from(JSON.stringify({ v: 1, recordId: id, tenantId: sender.tenantId, traceId: `${'0'.repeat(31)}1` }));
	await mesh.broker.publish([{ topic: 'mail-send-normal', payload, properties: {} }]);
	await eventually(async () => (await mesh.broker.backlog('mail-send-normal', 'mail-sender')) === 0, { ...PATIENCE, what: 'the ack' });
	const standing = await standingOf(mesh.db, id);
	expect(standing).toMatchObject({ status: 'PENDING', attemptNo: 0, entries: 1 });
	expect(brokenLaws(standing)).toEqual([]);
	await mesh.db.pool.query(`update send_state set due_at = now() where id = $1`, [id]);
	await mesh.db.pool.query(`update outbox_entry set due_at = now() where id = $1`, [id]);
	await mesh.db.pool.query('update flow set next_at = now()');
	const running = await mesh.publish();
	await drained();
	await running.stop();
});

test('F12 while the topic of one lane is slow, mails of another lane keep flowing', async () => {
	let open = (): void => undefined;
	const gate = new Promise<void>((resolve) => {
		open = resolve;
	});
	// As a driver does it: one answer for the whole call, once each of its topics has answered.
	const slow: Broker = {
		...portOf(mesh.broker),
		publish: async (messages) => {
			if (messages.some((message) => message.topic === 'mail-send-bulk')) await gate;
			return await mesh.broker.publish(messages);
		},
	};
	const running = await mesh.publish({ broker: slow });
	const ids: string[] = [];
	for (let round = 0; round < 6; round++) {
		ids.push(...(await acceptRecords(mesh.db, records(5, { lane: 'bulk' }))));
		const [urgent = ''] = await acceptRecords(mesh.db, records(1, { lane: 'urgent' }));
		ids.push(urgent);
		await eventually(async () => (await standingOf(mesh.db, urgent)).status === 'SENT', {
			...PATIENCE,
			what: 'the urgent mail to be sent',
		});
	}
	open();
	await drained();
	await running.stop();
	expect(await broken(ids)).toEqual([]);
});

/** The port's methods as own properties, so that one of them can be replaced. */
function portOf(broker: Broker): Broker {
	return {
		publish: (messages) => broker.publish(messages),
		subscribe: (options) => broker.subscribe(options),
		backlog: (topic, subscription) => broker.backlog(topic, subscription),
		ensureTopics: (topics) => broker.ensureTopics(topics),
		connected: () => broker.connected(),
		on: (event, listener) => broker.on(event, listener),
		close: () => broker.close(),
	};
}
