import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type BreakableBroker, makeBreakableBroker } from '../harness/breakable-broker.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { brokenLaws, standingOf } from './standing.js';

// A broker that comes and goes, seen by a publisher and a sender that are never told to start again.

let mesh: Mesh;
let sink: SmtpSink;
let sender: Sender;
const toStop: Running[] = [];

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
});
afterEach(async () => {
	for (const one of toStop.splice(0).reverse()) await one.stop();
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

/** Starts a publisher and a sender on this broker; they stop with the test. Polls are slow, so that only being woken makes anything quick. */
async function work(broker: BreakableBroker, healSeconds = 600): Promise<void> {
	toStop.push(await mesh.publish({ broker, healSeconds, pollMs: 60_000 }));
	toStop.push(await mesh.send({ broker, nackMs: 20 }));
}

/** Accepts records and tells the publishers, as message-api does. */
async function accept(count: number): Promise<string[]> {
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: count }, () => newRecord(sender)),
	);
	await wake();
	return ids;
}

async function wake(): Promise<void> {
	await mesh.db.pool.query('update flow set next_at = now()');
	await mesh.db.pool.query(`notify tidings_outbox`);
}

async function allSent(ids: readonly string[]): Promise<void> {
	await eventually(async () => (await countOf(ids, `status = 'SENT'`)) === ids.length, {
		what: `${ids.length} records to be SENT`,
		within: 25_000,
	});
	for (const id of ids) expect(sink.mails.filter((mail) => mail.messageId.includes(id))).toHaveLength(1);
}

async function countOf(ids: readonly string[], condition: string): Promise<number> {
	const { rows } = await mesh.db.pool.query<{ n: number }>(
		`select count(*)::int as n from send_state where id = any($1) and ${condition}`,
		[ids],
	);
	return rows[0]?.n ?? 0;
}

async function entriesOf(ids: readonly string[]): Promise<Record<string, unknown>[]> {
	const { rows } = await mesh.db.pool.query('select distinct status, refusals, heals from outbox_entry where id = any($1)', [ids]);
	return rows;
}

const warnings = (from: number) =>
	mesh.lines.slice(from).filter((line) => line.level === 'warn' && String(line.msg).includes('due outbox entries wait'));

test('F11 with the broker away at the start both come up and wait; nothing counts against an entry, one warning tells of it, and its return is enough', async () => {
	const [before, broker] = [mesh.lines.length, await makeBreakableBroker({ away: true })];
	await work(broker);
	const ids = await accept(20);
	await eventually(() => warnings(before).length === 1, { what: 'a warning of the route' });
	expect(await entriesOf(ids)).toEqual([{ status: 'NEW', refusals: 0, heals: 0 }]);
	await broker.comeBack();
	await allSent(ids);
	expect(warnings(before)).toHaveLength(1);
	expect(mesh.lines.slice(before).filter((line) => line.poll !== undefined && line.level === 'warn')).toHaveLength(2);
});

test('F11 with the broker gone in mid-run, accepting goes on, and its return alone lets everything be sent, once', async () => {
	const broker = await makeBreakableBroker();
	await work(broker);
	const first = await accept(50);
	await eventually(() => broker.tried.length > 0, { what: 'a publish' });
	broker.leave();
	const second = await accept(50);
	expect(await entriesOf(second)).toEqual([{ status: 'NEW', refusals: 0, heals: 0 }]);
	await broker.comeBack();
	await allSent([...first, ...second]);
});

test('F11 a publish that the outage interrupts puts its flow off no longer than until the return', async () => {
	const broker = await makeBreakableBroker();
	await work(broker);
	await allSent(await accept(1));
	const publish = broker.publish.bind(broker);
	// Gone in the middle of a publish: it was connected when the entries were taken.
	let interrupted = 0;
	broker.publish = async (messages) => {
		if (interrupted > 0) return await publish(messages);
		interrupted += 1;
		broker.leave();
		return await publish(messages);
	};
	const ids = await accept(3);
	await eventually(async () => (await mesh.db.pool.query('select from flow where next_at > now()')).rowCount === 1, {
		what: 'the flow to rest',
	});
	await mesh.db.pool.query(`update flow set next_at = now() + interval '1 hour'`);
	await broker.comeBack();
	await allSent(ids);
	expect(interrupted).toBe(1);
});

test('acks that an outage swallows bring the messages again: they claim nothing and are acknowledged, and no mail goes out twice', async () => {
	const broker = await makeBreakableBroker();
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	await work(broker);
	const ids = await accept(5);
	await hang.met(5);
	broker.leave();
	hang.release();
	await allSent(ids);
	await broker.comeBack();
	await eventually(async () => (await broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'every message to be acked' });
	await allSent(ids);
	expect(await countOf(ids, 'attempt_no = 1')).toBe(5);
});

test('F11 when the topics are deleted they are made again, what was lost with them is healed, and nothing is DEAD', async () => {
	const broker = await makeBreakableBroker();
	await work(broker, 0.5);
	await allSent(await accept(1));
	const hang = sink.script({ stage: 'RCPT', answer: { kind: 'hang' } });
	const lost = await accept(60);
	await hang.met(20);
	await broker.deleteTopics();
	hang.release();
	const after = await accept(5);
	await allSent([...lost, ...after]);
	expect(await entriesOf([...lost, ...after])).toEqual([]);
});

test('a topic that is missing when something is published is made, together with its dead-letter topic, and the entry goes out', async () => {
	const broker = await makeBreakableBroker();
	toStop.push(await mesh.publish({ broker, pollMs: 60_000 }));
	await eventually(async () => (await broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'the topics' });
	await broker.deleteTopics();
	const ids = await accept(1);
	await eventually(async () => (await entriesOf(ids))[0]?.status === 'PUBLISHED', { what: 'the entry to be published', within: 20_000 });
	expect(await broker.backlog('mail-send-normal-DLQ', 'dead-letter')).toBe(0);
	toStop.push(await mesh.send({ broker }));
	await allSent(ids);
});

/** From now on the database refuses this, in words that hold an address, with that SQLSTATE. Answers how to mend it. */
async function refuse(table: string, event: 'insert' | 'update', condition: string, code = 'P0001'): Promise<() => Promise<void>> {
	const name = `refuse_${table}_${event}`;
	await mesh.db.pool.query(`
		create or replace function ${name}() returns trigger language plpgsql as $$
			begin if ${condition} then raise exception 'not for ann@example.com' using errcode = '${code}'; end if; return new; end $$;
		create trigger ${name} before ${event} on ${table} for each row execute function ${name}()`);
	return async () => {
		await mesh.db.pool.query(`drop trigger ${name} on ${table}`);
	};
}

async function nacksOf(id: string): Promise<number> {
	const { rows } = await mesh.db.pool.query<{ nacks: number }>('select nacks from outbox_entry where id = $1', [id]);
	return rows[0]?.nacks ?? -1;
}

test('F14 K23 a record whose handling keeps failing is given up with the fifth failure, counted through a restart of the broker; its neighbours are sent', async () => {
	const broker = await makeBreakableBroker();
	const [id = '', ...others] = await acceptRecords(
		mesh.db,
		Array.from({ length: 10 }, () => newRecord(sender)),
	);
	const mend = await refuse('send_state', 'update', `new.id = '${id}' and new.status = 'SENDING'`);
	await work(broker);
	await wake();
	await eventually(async () => (await nacksOf(id)) >= 1, { what: 'a counted failure' });
	broker.leave();
	const counted = await nacksOf(id);
	expect(counted).toBeLessThan(5);
	await broker.comeBack();
	await eventually(async () => (await standingOf(mesh.db, id)).status === 'DEAD_LETTER', { what: 'the record to be given up' });
	await mend();
	await allSent(others);
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
	const { rows } = await mesh.db.pool.query(
		'select source, topic, envelope, error, channel, tenant_id from dead_letter_message where record_id = $1',
		[id],
	);
	expect(rows).toEqual([
		{
			source: 'BROKER_POISON',
			topic: 'mail-send-normal',
			envelope: expect.stringContaining(id),
			error: 'handling failed 5 times: error P0001',
			channel: 'MAIL',
			tenant_id: sender.tenantId,
		},
	]);
	await eventually(async () => (await broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'the message to be acked' });
	expect(sink.mails.some((mail) => mail.messageId.includes(id))).toBe(false);
});

test('F16 while poison cannot be archived it is not acked and is tried again, with an error line; then it is archived once', async () => {
	const [before, broker] = [mesh.lines.length, await makeBreakableBroker()];
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender)]);
	const mendClaim = await refuse('send_state', 'update', `new.id = '${id}' and new.status = 'SENDING'`);
	const mendLetter = await refuse('dead_letter_message', 'insert', `new.source = 'BROKER_POISON'`);
	await work(broker);
	await eventually(async () => (await broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'the topics' });
	const bad = { topic: 'mail-send-normal', payload: Buffer.from('{"recordId": 1}'), properties: {} };
	await broker.publish([bad]);
	await wake();
	const errors = (text: string) => mesh.lines.slice(before).filter((line) => line.level === 'error' && String(line.msg).includes(text));
	await eventually(() => errors('could not be archived').length >= 2 && errors('could not be counted').length >= 2, {
		what: 'two tries at each',
	});
	expect(await broker.backlog('mail-send-normal', 'mail-sender')).toBe(2);
	expect([await standingOf(mesh.db, id), await nacksOf(id)]).toEqual([expect.objectContaining({ status: 'PENDING' }), 4]);
	await mendLetter();
	await eventually(async () => (await broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'both to be acked' });
	await mendClaim();
	const { rows } = await mesh.db.pool.query(
		`select envelope, record_id from dead_letter_message where source = 'BROKER_POISON' and (record_id = $1 or record_id is null) order by record_id`,
		[id],
	);
	expect(rows).toEqual([
		{ envelope: expect.stringContaining(id), record_id: id },
		{ envelope: '{"recordId": 1}', record_id: null },
	]);
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
});

test('a settlement that the database refuses for itself holds back no other: its neighbours are SENT, each once', async () => {
	const broker = await makeBreakableBroker();
	const [bad = '', ...others] = await acceptRecords(
		mesh.db,
		Array.from({ length: 20 }, () => newRecord(sender)),
	);
	const mend = await refuse('send_state', 'update', `new.id = '${bad}' and new.status = 'SENT'`);
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	await work(broker);
	await wake();
	await hang.met(20);
	// All are answered at once, so that they are settled together.
	hang.release();
	await allSent(others);
	await mend();
	expect(await standingOf(mesh.db, bad)).toMatchObject({ status: 'SENDING', attemptNo: 1 });
});

test('a hand-over that cannot be marked because the database is away is given back: nothing is burnt or ambiguous, and no lease is waited for', async () => {
	const broker = await makeBreakableBroker();
	const holding = await makeSender(mesh.db, { host: sink.host, port: sink.port, onAmbiguous: 'hold' });
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(holding)]);
	const mend = await refuse(
		'send_state',
		'update',
		`new.id = '${id}' and new.status = 'SENDING' and new.handed_over_at is not null`,
		'57P01',
	);
	await work(broker);
	await wake();
	await eventually(async () => (await standingOf(mesh.db, id)).attempts > 0, { what: 'an attempt to end' });
	await mend();
	await allSent([id]);
	expect(await standingOf(mesh.db, id)).toMatchObject({ budgetUsed: 0, ambiguous: false });
	const { rows } = await mesh.db.pool.query('select outcome, answer from delivery_attempt where id = $1 and attempt_no = 1', [id]);
	expect(rows).toEqual([{ outcome: 'UNKNOWN', answer: expect.stringContaining('nothing was sent') }]);
});
