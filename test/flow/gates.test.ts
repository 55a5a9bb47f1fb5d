import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { inTransaction, replayLetters } from '@tidings/db';
import { createMemoryWindows } from '@tidings/limits';
import type { MailSenderOptions } from '@tidings/mail-sender';
import { newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { startForeignServer } from '../harness/foreign-tls.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { brokenLaws, standingOf } from './standing.js';

// The doors of provider configs, seen by real publishers and senders: what closes them, what waits behind them, and what opens them.

const LOGIN = { username: 'shop', password: 'right password' };
const WITHIN = { within: 25_000 };

let mesh: Mesh;
let sink: SmtpSink;
let sender: Sender;
const toStop: Running[] = [];
const toClose: { close(): unknown }[] = [];

beforeAll(async () => {
	mesh = await makeMesh();
});
beforeEach(async () => {
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
});
afterEach(async () => {
	for (const one of toStop.splice(0).reverse()) await one.stop();
	const { rows: some } = await mesh.db.pool.query<{ id: string }>(
		`select id from send_state where tenant_id = $1 and status <> 'SENDING' limit 50`,
		[sender.tenantId],
	);
	for (const { id } of some) expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
	await sink.close();
	for (const one of toClose.splice(0)) await one.close();
});
afterAll(async () => {
	await mesh.close();
});

async function work(change: Partial<MailSenderOptions> = {}, senders = 1): Promise<void> {
	toStop.push(await mesh.publish());
	for (let n = 0; n < senders; n++) toStop.push(await mesh.send({ probeSeconds: 0.2, ...change }));
}

async function accept(count: number, from = sender): Promise<string[]> {
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: count }, () => newRecord(from)),
	);
	await wake();
	return ids;
}

async function wake(): Promise<void> {
	await mesh.db.pool.query('update flow set next_at = now()');
	await mesh.db.pool.query('notify tidings_outbox');
}

type Row = { id: string; status: string; burnt: number; attempts: number; waits: number; tried: number };
async function rows(ids: readonly string[]): Promise<Row[]> {
	const { rows: found } = await mesh.db.pool.query<Row>(
		`select id, status, budget_used as burnt, attempt_no as attempts, waits, (select count(*)::int from delivery_attempt a where a.id = s.id) as tried
		from send_state s where id = any($1) order by id`,
		[ids],
	);
	return found;
}

async function count(ids: readonly string[], fits: (row: Row) => boolean): Promise<number> {
	return (await rows(ids)).filter(fits).length;
}

async function reach(ids: readonly string[], status: string, wanted = ids.length): Promise<void> {
	await eventually(async () => (await count(ids, (row) => row.status === status)) === wanted, {
		...WITHIN,
		what: `${wanted} records to be ${status}`,
	});
}

async function gateOf({
	configId,
} = sender): Promise<{ closed: boolean; reason: string | null; detail: string | null; half_open: boolean }> {
	const { rows: found } = await mesh.db.pool.query(
		'select coalesce(closed_until > now(), false) as closed, reason, detail, half_open from gate where id = $1',
		[configId],
	);
	return found[0];
}

const closes = (reason: string, from = sender): Promise<unknown> =>
	eventually(async () => (await gateOf(from)).reason === reason, { ...WITHIN, what: `the gate to close for ${reason}` });

/** Nothing is in anybody's hands: what is not finished waits in the outbox. */
const allWaits = (ids: readonly string[]): Promise<unknown> =>
	eventually(
		async () => {
			const { rows: found } = await mesh.db.pool.query<{ n: number }>(
				`select (select count(*) from send_state where id = any($1) and status = 'SENDING') + (select count(*) from outbox_entry where id = any($1) and taken) as n`,
				[ids],
			);
			return Number(found[0]?.n) === 0;
		},
		{ ...WITHIN, what: 'everything to wait in the outbox' },
	);

/** As `POST /v1/dead-letters/{id}:replay` does it. */
async function replay(letterId: string): Promise<void> {
	const order = { tenantId: sender.tenantId, letterIds: [letterId], actor: 'tester', note: null, traceId: '0'.repeat(32), replayId: null };
	const [replayed] = await inTransaction(mesh.db.pool, (client) => replayLetters(client, order));
	expect(replayed).toMatchObject({ id: letterId, refusal: null });
	await wake();
}

const setServer = (set: string, from = sender): Promise<unknown> =>
	mesh.db.pool.query(`update mail_send_server_config set ${set}, version = version + 1 where id = $1`, [from.configId]);

/** A server at a port of its own that can be gone, and come back. */
async function wantedSink(options: Parameters<typeof startSmtpSink>[0]): Promise<SmtpSink> {
	const one = await startSmtpSink(options);
	toClose.push(one);
	return one;
}

test('F25 a wrong password makes one dead letter and closes the gate; the others wait unburnt, and go when the probe gets through', async () => {
	const guarded = await wantedSink({ login: LOGIN });
	await setServer(`port = ${guarded.port}, username = 'shop', password_sealed = 'wrong password'`);
	const ids = await accept(60);
	await work();
	await closes('AUTH');
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER' && row.burnt === 1)).toBe(1);
	expect(await count(ids, (row) => (row.status === 'PENDING' || row.status === 'RETRY') && row.burnt === 0 && row.waits > 0)).toBe(59);
	expect(await gateOf()).toMatchObject({ closed: true, detail: expect.stringMatching(/^535/) });
	// Mended behind the mesh's back: only the probe finds out.
	await setServer(`password_sealed = 'right password'`);
	await reach(ids, 'SENT', 59);
	expect(guarded.mails).toHaveLength(59);
	await eventually(async () => !(await gateOf()).half_open, { ...WITHIN, what: 'the gate to be wide open' });
	expect(await gateOf()).toEqual({ closed: false, reason: null, detail: null, half_open: false });
	// The letter tells the reason, and its replay is all that is left to do.
	const { rows: letters } = await mesh.db.pool.query<{ id: string; category: string; status: string }>(
		'select id, category, status from dead_letter_message where tenant_id = $1',
		[sender.tenantId],
	);
	expect(letters).toEqual([{ id: expect.any(String), category: 'AUTH', status: 'PENDING' }]);
	await replay(letters[0]?.id ?? '');
	await reach(ids, 'SENT');
	expect(guarded.mails).toHaveLength(60);
});

test('F25 of two senders with the same wrong password one closes the gate, and one letter is written', async () => {
	const guarded = await wantedSink({ login: LOGIN });
	await setServer(`port = ${guarded.port}, username = 'shop', password_sealed = 'wrong password'`);
	const ids = await accept(100);
	await work({ probeSeconds: 600 }, 2);
	await closes('AUTH');
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER')).toBe(1);
	expect(await count(ids, (row) => row.burnt === 0)).toBe(99);
});

test('a server without STARTTLS, where it is demanded, closes the gate for CONFIG', async () => {
	await setServer(`security = 'starttls'`);
	const ids = await accept(5);
	await work({ probeSeconds: 600 });
	await closes('CONFIG');
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER')).toBe(1);
	expect(await count(ids, (row) => row.burnt === 0)).toBe(4);
});

test('F29 a certificate of somebody else closes the gate for CONFIG', async () => {
	const foreign = await startForeignServer();
	toClose.push(foreign);
	await setServer(`port = ${foreign.port}, security = 'tls'`);
	const ids = await accept(5);
	await work({ probeSeconds: 600 });
	await closes('CONFIG');
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER')).toBe(1);
	expect(await count(ids, (row) => row.burnt === 0)).toBe(4);
});

test('a host that is away costs three attempts in all, then its gate closes; when it is back everything arrives, once', async () => {
	const gone = await wantedSink({});
	await gone.close();
	await setServer(`port = ${gone.port}`);
	const ids = await accept(50);
	await work();
	await closes('UNREACHABLE');
	await allWaits(ids);
	const standing = await rows(ids);
	expect(standing.reduce((sum, row) => sum + row.burnt, 0)).toBe(3);
	await mesh.db.pool.query(`update send_state set due_at = now() where id = any($1)`, [ids]);
	await mesh.db.pool.query(`update outbox_entry set due_at = now() where id = any($1)`, [ids]);
	const back = await wantedSink({ port: gone.port });
	await reach(ids, 'SENT');
	expect(back.mails).toHaveLength(50);
	expect((await rows(ids)).reduce((sum, row) => sum + row.burnt, 0)).toBe(3);
});

test('an account whose allowance is spent is left alone: one was refused, the others are not tried', async () => {
	sink.script({ stage: 'MAIL', answer: { kind: 'refuse', code: 550, enhancedCode: '5.4.5', text: 'Daily user sending limit exceeded' } });
	const ids = await accept(30);
	await work({ slots: 1 });
	await closes('QUOTA');
	await allWaits(ids);
	// Its slot is free only once the gate is closed.
	expect((await rows(ids)).reduce((sum, row) => sum + row.tried, 0)).toBe(1);
	expect(await count(ids, (row) => row.burnt === 0 && row.waits > 0)).toBeGreaterThan(0);
	expect(await gateOf()).toMatchObject({ closed: true });
});

test('half open, one goes through at a time: a server that lets in and then refuses is tried once for each opening, by two senders together', async () => {
	sink.script({ stage: 'MAIL', answer: { kind: 'refuse', code: 530, enhancedCode: '5.7.0', text: 'Authentication required' } });
	await mesh.db.pool.query('update gate set half_open = true where id = $1', [sender.configId]);
	const ids = await accept(40);
	// The log-in of the probe works each time, so the gate opens again, and the one that goes through closes it.
	await work({}, 2);
	await eventually(async () => (await count(ids, (row) => row.status === 'DEAD_LETTER')) >= 4, { ...WITHIN, what: 'four openings' });
	for (const one of toStop.splice(0).reverse()) await one.stop();
	const standing = await rows(ids);
	const letters = standing.filter((row) => row.status === 'DEAD_LETTER');
	expect(standing.reduce((sum, row) => sum + row.tried, 0)).toBe(letters.length);
	expect(standing.reduce((sum, row) => sum + row.burnt, 0)).toBe(letters.length);
});

test('a minute’s limit sends that many, claims no more, and hands the rest back once; the next minute goes on', async () => {
	let clock = 0;
	const windows = createMemoryWindows();
	// Its minutes turn when the test says so.
	const limits = {
		...windows,
		take: (requests: Parameters<typeof windows.take>[0]) =>
			windows.take(requests.map((one) => ({ ...one, configId: `${one.configId} ${clock}` }))),
	};
	await setServer('rate_per_minute = 10');
	const ids = await accept(2_000);
	await work({ limits });
	await closes('RATE');
	await allWaits(ids);
	const first = await rows(ids);
	expect(sink.mails).toHaveLength(10);
	expect(first.reduce((sum, row) => sum + row.attempts, 0)).toBe(10);
	// What was published went back once; what was not was never touched.
	expect(Math.max(...first.map((row) => row.waits))).toBe(1);
	expect(first.reduce((sum, row) => sum + row.waits, 0)).toBeLessThanOrEqual(400);
	expect(first.reduce((sum, row) => sum + row.burnt, 0)).toBe(0);
	clock += 1;
	await mesh.db.pool.query(`update gate set closed_until = now() where id = $1`, [sender.configId]);
	await wake();
	await eventually(() => sink.mails.length === 20, { ...WITHIN, what: 'ten more' });
	await closes('RATE');
	await allWaits(ids);
	expect((await rows(ids)).reduce((sum, row) => sum + row.attempts, 0)).toBe(20);
});

test('F21 while the windows cannot be counted nothing is sent, tried or burnt; then all goes, without a restart', async () => {
	let away = true;
	let asked = 0;
	const windows = createMemoryWindows();
	const limits = {
		...windows,
		take: async (requests: Parameters<typeof windows.take>[0]) => {
			asked += 1;
			if (away) throw new Error('Redis cannot count the rate limits: it is away');
			return await windows.take(requests);
		},
	};
	const from = mesh.lines.length;
	const ids = await accept(30);
	// All slots are taken and more wait for so long that a provider would count as hanging: it was not even asked.
	await work({ limits, hungMs: 100 });
	await eventually(() => asked >= 4, { ...WITHIN, what: 'the windows to be asked again and again' });
	expect(mesh.lines.slice(from).filter((line) => String(line['msg']).includes('rate limits is away'))).toHaveLength(1);
	expect(await gateOf()).toMatchObject({ closed: false, reason: null });
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0 && row.waits === 0)).toBe(30);
	expect(sink.mails).toEqual([]);
	away = false;
	await reach(ids, 'SENT');
	expect(sink.mails).toHaveLength(30);
});

test('F21 a sender that stops while the windows are away lets its messages go', async () => {
	const limits = { ...createMemoryWindows(), take: () => Promise.reject(new Error('away')) };
	const ids = await accept(5);
	toStop.push(await mesh.publish({ healSeconds: 1 }));
	const stopping = await mesh.send({ limits });
	await eventually(
		async () => (await mesh.db.pool.query('select from outbox_entry where id = any($1) and taken', [ids])).rowCount === 5,
		WITHIN,
	);
	await stopping.stop(5);
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0)).toBe(5);
	toStop.push(await mesh.send());
	await reach(ids, 'SENT');
});

/** A server that takes connections and never says a word. */
async function silentServer(): Promise<number> {
	const sockets = new Set<Socket>();
	const server: Server = createServer((socket) => {
		sockets.add(socket);
		socket.on('error', () => undefined);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	toClose.push({
		close: () => {
			for (const socket of sockets) socket.destroy();
			return new Promise((resolve) => server.close(resolve));
		},
	});
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

test('F38 a server that hangs costs the others nothing: its gate closes, its line goes back, and theirs arrive meanwhile', async () => {
	const hanging = await makeSender(mesh.db, { port: await silentServer() });
	const stuck = await accept(100, hanging);
	await work({ slots: 5, hungMs: 300, probeSeconds: 600, readSeconds: 60 });
	await eventually(async () => (await count(stuck, (row) => row.status === 'SENDING')) === 5, { ...WITHIN, what: 'all slots to be held' });
	const others = await accept(100);
	await reach(others, 'SENT');
	await closes('UNREACHABLE', hanging);
	await eventually(
		async () => (await mesh.db.pool.query('select from outbox_entry where id = any($1) and taken', [stuck])).rowCount === 0,
		{
			...WITHIN,
			what: 'its line to be handed back',
		},
	);
	expect(await count(stuck, (row) => row.status === 'SENDING')).toBe(5);
	expect(await count(stuck, (row) => row.status === 'PENDING' && row.waits === 1 && row.attempts === 0)).toBe(95);
	expect((await gateOf(hanging)).detail).toMatch(/All 5 connections/);
	for (const one of toStop.splice(0).reverse()) await one.stop(1);
	await mesh.db.pool.query(`update send_state set lease_until = now() where id = any($1) and status = 'SENDING'`, [stuck]);
});

test('F38 a slow server that answers after all opens its gate again', async () => {
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	const ids = await accept(20);
	await work({ slots: 5, hungMs: 200, probeSeconds: 600 });
	await closes('UNREACHABLE');
	hang.release();
	await reach(ids, 'SENT');
	expect(sink.mails).toHaveLength(20);
});

test('F37 a tenant with a dead host and a long line keeps no other waiting', async () => {
	const dead = await makeSender(mesh.db, { port: 1 });
	await accept(1_000, dead);
	await work({ probeSeconds: 600 });
	const others = await accept(10);
	await reach(others, 'SENT');
	await closes('UNREACHABLE', dead);
	await mesh.db.pool.query(`delete from outbox_entry where tenant_id = $1`, [dead.tenantId]);
	await mesh.db.pool.query(`delete from send_state where tenant_id = $1`, [dead.tenantId]);
});

test('a paused config keeps what it has until it is resumed', async () => {
	await mesh.db.pool.query(`update gate set closed_until = 'infinity', reason = 'PAUSED' where id = $1`, [sender.configId]);
	const ids = await accept(10);
	const other = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	await work();
	await reach(await accept(5, other), 'SENT');
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0)).toBe(10);
	await mesh.db.pool.query(`update gate set closed_until = null, reason = null where id = $1`, [sender.configId]);
	await wake();
	await reach(ids, 'SENT');
});

test.each([
	['its config', `update gate set closed_until = 'infinity', reason = 'PAUSED' where id = $1`],
	[
		'its route',
		`insert into gate (id, tenant_id, kind, route, closed_until, reason) select uuid_v7(), tenant_id, 'ROUTE', 'mail-send', 'infinity', 'PAUSED' from gate where id = $1`,
	],
])(
	'what is published already when %s is paused is claimed by nobody: it goes back, waits, and is sent when that is resumed',
	async (_, pause) => {
		toStop.push(await mesh.publish());
		const ids = await accept(10);
		const published = async () =>
			(await mesh.db.pool.query(`select from outbox_entry where id = any($1) and status = 'PUBLISHED'`, [ids])).rowCount === 10;
		await eventually(published, { ...WITHIN, what: 'all to be published' });
		await mesh.db.pool.query(pause, [sender.configId]);
		toStop.push(await mesh.send());
		await allWaits(ids);
		expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0 && row.waits === 1)).toBe(10);
		expect(sink.mails).toEqual([]);
		await mesh.db.pool.query(`update gate set closed_until = null, reason = null where reason = 'PAUSED'`);
		await wake();
		await reach(ids, 'SENT');
		expect(sink.mails).toHaveLength(10);
	},
);

test('a mail server that was deleted meanwhile makes a letter of each, for nobody could open its gate', async () => {
	const ids = await accept(3);
	await mesh.db.pool.query('delete from mail_send_server_config where id = $1', [sender.configId]);
	await mesh.db.pool.query('delete from gate where id = $1', [sender.configId]);
	await work();
	await reach(ids, 'DEAD_LETTER');
});

test('a gate shows what the provider said, without the address that it named', async () => {
	const named = `550 5.4.5 limit of ${newId()}@example.org reached`;
	sink.script({ stage: 'RCPT', answer: { kind: 'refuse', code: 550, enhancedCode: '5.4.5', text: named.slice(10) } });
	const ids = await accept(1);
	await work();
	await closes('QUOTA');
	await allWaits(ids);
	expect((await gateOf()).detail).toBe('550 5.4.5 limit of ••• reached');
});
