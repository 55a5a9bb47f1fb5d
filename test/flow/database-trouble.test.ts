import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openDb } from '@tidings/db';
import { startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, recipient, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { startProxy } from '../harness/tcp-proxy.js';
import { brokenLaws, standingOf } from './standing.js';

// A database that is full of callers, that may only be read, that drops its sessions, and that commits late.

let mesh: Mesh;
let api: TestApi;
let sink: SmtpSink;
let sender: Sender;
const running: Running[] = [];

beforeAll(async () => {
	mesh = await makeMesh();
	api = await startApi({ databaseUrl: mesh.url });
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	const server = { name: 'sink', host: sink.host, port: sink.port, security: 'none', from: { address: 'shop@example.com' }, default: true };
	expect((await api.call('/v1/mail-servers', { body: server })).status).toBe(201);
});
afterEach(async () => {
	for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
	await sink.close();
});

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' };
const mailsOf = (id: string) => sink.mails.filter((mail) => mail.messageId.includes(id));

async function ends(id: string, status: string): Promise<void> {
	await eventually(async () => (await standingOf(mesh.db, id)).status === status, { what: `record ${id} to be ${status}`, within: 20_000 });
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
}

test('F19 while every connection of the API is held, fifty callers get 503 with Retry-After, nothing is written, the sweeper goes on, and then all is well', async () => {
	expect((await api.call('/v1/messages')).status).toBe(200);
	const count = async (): Promise<number> => (await mesh.db.pool.query('select from send_record')).rowCount ?? -1;
	const before = await count();
	const held = await Promise.all(Array.from({ length: 10 }, () => api.db.pool.connect()));
	// One of them is a transaction that somebody forgot.
	await held[0]?.query('begin');
	await held[0]?.query('select from tenant for share');
	const [stale = ''] = await acceptRecords(mesh.db, [newRecord(sender)]);
	await mesh.db.pool.query(`update send_state set not_after = now() - interval '1 second' where id = $1`, [stale]);
	running.push(await mesh.publish());
	const [answers] = await Promise.all([
		Promise.all(Array.from({ length: 50 }, () => api.call('/v1/mails', { body: MAIL }))),
		ends(stale, 'EXPIRED'),
	]);
	expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
	expect(answers.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
	expect(await count()).toBe(before + 1);
	await held[0]?.query('rollback');
	for (const client of held) client.release();
	const again = await Promise.all(Array.from({ length: 50 }, () => api.call('/v1/mails', { body: MAIL })));
	expect(new Set(again.map(({ status }) => status))).toEqual(new Set([202]));
});

test('F19 a statement that takes long, and a transaction that is forgotten, are ended by the database', async () => {
	const settings = ['statement_timeout', 'idle_in_transaction_session_timeout'];
	const { rows } = await api.db.pool.query(`select name, setting::int as ms from pg_settings where name = any($1) order by name desc`, [
		settings,
	]);
	expect(rows).toEqual(settings.map((name) => ({ name, ms: 30_000 })));
});

/** From now on the database may only be read, or written again; sessions that knew it otherwise are ended. */
async function readOnly(on: boolean): Promise<void> {
	const operator = openDb({ url: mesh.url, name: 'operator', connections: 1 });
	await operator.pool.query('set default_transaction_read_only = off');
	const { rows } = await operator.pool.query<{ name: string }>('select current_database() as name');
	await operator.pool.query(`alter database "${rows[0]?.name}" set default_transaction_read_only = ${on ? 'on' : 'off'}`);
	await operator.pool.query(
		'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
	);
	await operator.close();
}

test('F20 while the database may only be read, mails are refused with 503, and a sender that has a message sends nothing, for it cannot claim', async () => {
	const publisher = await mesh.publish();
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender)]);
	const entry = async (): Promise<string> =>
		(await mesh.db.pool.query<{ status: string }>('select status from outbox_entry where id = $1', [id])).rows[0]?.status ?? 'none';
	await eventually(async () => (await entry()) === 'PUBLISHED', { what: 'the entry to be published' });
	await publisher.stop();
	await readOnly(true);
	const before = mesh.lines.length;
	running.push(await mesh.send());
	const refused = await eventually(
		async () => {
			const answer = await api.call('/v1/mails', { body: MAIL });
			return answer.status === 503 ? answer : null;
		},
		{ what: 'a refusal' },
	);
	expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
	expect((await api.call('/v1/messages')).status).toBe(200);
	await eventually(() => mesh.lines.slice(before).some((line) => JSON.stringify(line).includes('read-only')), {
		what: 'a claim that fails',
	});
	expect([mailsOf(id), (await standingOf(mesh.db, id)).attemptNo]).toEqual([[], 0]);
	await readOnly(false);
	running.push(await mesh.publish());
	await ends(id, 'SENT');
	expect(mailsOf(id)).toHaveLength(1);
	expect((await api.call('/v1/mails', { body: MAIL })).status).toBe(202);
}, 60_000);

test('K20 a sender whose database drops after its claim loses the record when the lease is over: another sends it, once, and no row stays locked', async () => {
	const { hostname, port } = new URL(mesh.url);
	const proxy = await startProxy({ host: hostname, port: Number(port) });
	const url = new URL(mesh.url);
	url.port = String(proxy.port);
	const cutOff = openDb({ url: url.href, name: 'cut-off', connections: 5, answerMs: 500 });
	running.push(await mesh.publish());
	const hang = sink.script({ stage: 'RCPT', to: 'k20@example.com', times: 1, answer: { kind: 'hang' } });
	const first = await mesh.send({ db: cutOff });
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender, { recipients: [recipient('k20@example.com')] })]);
	await hang.met();
	proxy.cut();
	proxy.refuse(true);
	await mesh.db.pool.query(`update send_state set lease_until = now() where id = $1`, [id]);
	running.push(await mesh.send());
	await ends(id, 'SENT');
	// As its own deadline would, well before a real lease is over: whoever still speaks to a server then has lost its record.
	await first.stop(2);
	hang.release();
	expect(mailsOf(id)).toHaveLength(1);
	expect(await standingOf(mesh.db, id)).toMatchObject({ attemptNo: 2, status: 'SENT' });
	await mesh.db.pool.query('select from send_state where id = $1 for update nowait', [id]);
	await cutOff.close();
	await proxy.close();
});

test('K26 a message whose transaction began first and commits last is published too, behind younger ones that are SENT already', async () => {
	running.push(await mesh.publish(), await mesh.send());
	const [old, young] = [newRecord(sender), newRecord(sender)];
	const gate = await mesh.db.pool.connect();
	await gate.query('select pg_advisory_lock(26)');
	await mesh.db.pool.query(`
		create function wait_for_gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(26); return new; end $$;
		create trigger wait_for_gate before insert on outbox_entry for each row when (new.id = '${old.id}') execute function wait_for_gate()`);
	const late = acceptRecords(mesh.db, [old]);
	await eventually(
		async () => ((await mesh.db.pool.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount ?? 0) > 0,
		{
			what: 'the older one to wait',
		},
	);
	const [id = ''] = await acceptRecords(mesh.db, [young]);
	expect(id > old.id).toBe(true);
	await ends(id, 'SENT');
	await gate.query('select pg_advisory_unlock(26)');
	gate.release();
	await late;
	await ends(old.id, 'SENT');
	await mesh.db.pool.query('drop trigger wait_for_gate on outbox_entry; drop function wait_for_gate()');
});
