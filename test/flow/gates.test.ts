import { expect, test } from '@jest/globals';
import { inTransaction, replayLetters } from '@tidings/db';
import { newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { startForeignServer } from '../harness/foreign-tls.js';
import {
	accept,
	allWaits,
	closes,
	count,
	gateOf,
	mesh,
	reach,
	rows,
	sender,
	setServer,
	sink,
	toClose,
	toStop,
	WITHIN,
	wake,
	wantedSink,
	work,
} from './gates-kit.js';

// The doors of provider configs, seen by real publishers and senders: what a provider's no closes, what waits behind it, and what opens it.

const LOGIN = { username: 'shop', password: 'right password' };

/** As `POST /v1/dead-letters/{id}:replay` does it. */
async function replay(letterId: string): Promise<void> {
	const order = { tenantId: sender.tenantId, letterIds: [letterId], actor: 'tester', note: null, traceId: '0'.repeat(32), replayId: null };
	const [replayed] = await inTransaction(mesh.db.pool, (client) => replayLetters(client, order));
	expect(replayed).toMatchObject({ id: letterId, refusal: null });
	await wake();
}

/** The gate closes: one of these records has paid, and the others wait and have burnt nothing. */
async function costsOneLetter(ids: readonly string[], reason: string): Promise<void> {
	await closes(reason);
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER' && row.burnt === 1)).toBe(1);
	expect(await count(ids, (row) => (row.status === 'PENDING' || row.status === 'RETRY') && row.burnt === 0)).toBe(ids.length - 1);
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
	await costsOneLetter(ids, 'AUTH');
});

test('a banner that refuses for good makes one dead letter and closes the gate; no mail loses a recipient, and all are sent when it is mended', async () => {
	const refusing = sink.script({ stage: 'CONN', answer: { kind: 'refuse', code: 550, enhancedCode: '5.7.1', text: 'blocked' } });
	const ids = await accept(30);
	await work();
	await closes('CONFIG');
	await allWaits(ids);
	expect(await count(ids, (row) => row.status === 'DEAD_LETTER')).toBe(1);
	refusing.release();
	await reach(ids, 'SENT', 29);
	const { rows: letters } = await mesh.db.pool.query<{ id: string }>('select id from dead_letter_message where tenant_id = $1', [
		sender.tenantId,
	]);
	await replay(letters[0]?.id ?? '');
	await reach(ids, 'SENT');
	expect(sink.mails).toHaveLength(30);
});

test('a server without STARTTLS, where it is demanded, closes the gate for CONFIG', async () => {
	await setServer(`security = 'starttls'`);
	const ids = await accept(5);
	await work({ probeSeconds: 600 });
	await costsOneLetter(ids, 'CONFIG');
});

test('F29 a certificate of somebody else closes the gate for CONFIG', async () => {
	const foreign = await startForeignServer();
	toClose.push(foreign);
	await setServer(`port = ${foreign.port}, security = 'tls'`);
	const ids = await accept(5);
	await work({ probeSeconds: 600 });
	await costsOneLetter(ids, 'CONFIG');
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

test.each([
	['of a week', 604_800, 3_600],
	['of none', 0, 300],
])('a tenant’s own patience with a spent allowance, %s, moves no gate that others go through', async (_, quotaFloorSeconds, most) => {
	await mesh.db.prisma.tenant.upsert({
		where: { id: sender.tenantId },
		create: { id: sender.tenantId, name: sender.tenantId, settings: { retryTypes: { '*': { quotaFloorSeconds } } } },
		update: { settings: { retryTypes: { '*': { quotaFloorSeconds } } } },
	});
	sink.script({ stage: 'MAIL', answer: { kind: 'refuse', code: 550, enhancedCode: '5.4.5', text: 'Daily user sending limit exceeded' } });
	const ids = await accept(1);
	await work();
	await closes('QUOTA');
	await allWaits(ids);
	const { rows: found } = await mesh.db.pool.query<{ seconds: number }>(
		'select extract(epoch from closed_until - now())::int as seconds from gate where id = $1',
		[sender.configId],
	);
	expect(found[0]?.seconds).toBeGreaterThan(30);
	expect(found[0]?.seconds).toBeLessThanOrEqual(most);
});

test('half open, one goes through at a time: a server that lets in and then refuses is tried once for each opening, by two senders together', async () => {
	sink.script({ stage: 'MAIL', answer: { kind: 'refuse', code: 530, enhancedCode: '5.7.0', text: 'Authentication required' } });
	await mesh.db.pool.query('update gate set half_open = true where id = $1', [sender.configId]);
	const ids = await accept(40);
	// The log-in of the probe works each time, so the gate opens again, and the one that goes through closes it.
	await work({}, 2);
	await eventually(async () => (await count(ids, (row) => row.tried > 0)) >= 4, { ...WITHIN, what: 'four openings' });
	for (const one of toStop.splice(0).reverse()) await one.stop();
	// Each time another one was tried, and none of them paid for it.
	const standing = await rows(ids);
	expect(Math.max(...standing.map((row) => row.tried))).toBe(1);
	expect(standing.filter((row) => row.burnt > 0 || row.status === 'DEAD_LETTER')).toEqual([]);
});

test('a record that was tried five times at a door that is shut, and burnt nothing, is given up at the next', async () => {
	const guarded = await wantedSink({ login: LOGIN });
	await setServer(`port = ${guarded.port}, username = 'shop', password_sealed = 'wrong password'`);
	await mesh.db.pool.query('update gate set half_open = true where id = $1', [sender.configId]);
	const ids = await accept(1);
	await mesh.db.pool.query('update send_state set attempt_no = 5 where id = any($1)', [ids]);
	await work({ probeSeconds: 600 });
	await reach(ids, 'DEAD_LETTER');
});

test('M10 a server that wants STARTTLS first, and says so only at MAIL, costs one letter; the others wait', async () => {
	sink.script({ stage: 'MAIL', answer: { kind: 'refuse', code: 530, enhancedCode: '5.7.0', text: 'Must issue a STARTTLS command first' } });
	const ids = await accept(60);
	await work({ probeSeconds: 600 });
	await costsOneLetter(ids, 'CONFIG');
});

test('a mail server that was deleted meanwhile makes a letter of each, for nobody could open its gate', async () => {
	const ids = await accept(3);
	await mesh.db.pool.query('delete from mail_send_server_config where id = $1', [sender.configId]);
	await mesh.db.pool.query('delete from gate where id = $1', [sender.configId]);
	await work();
	await reach(ids, 'DEAD_LETTER');
});

test('a gate shows what the provider said, without the address that it named', async () => {
	const named = `550 5.4.5 limit of <"ann ${newId()}"@example.org> and o'${newId()}@example.org reached`;
	sink.script({ stage: 'RCPT', answer: { kind: 'refuse', code: 550, enhancedCode: '5.4.5', text: named.slice(10) } });
	const ids = await accept(1);
	await work();
	await closes('QUOTA');
	await allWaits(ids);
	expect((await gateOf()).detail).toBe('550 5.4.5 limit of <•••> and ••• reached');
});
