import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { type SinkStage, type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { brokenLaws, standingOf } from './standing.js';

// F39: what a polite stop leaves behind. Two seconds are left to the sender, so that nothing hangs for longer.

let mesh: Mesh;
let sink: SmtpSink;
let resending: Sender;
let holding: Sender;
const toStop: Running[] = [];

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	resending = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	holding = await makeSender(mesh.db, { host: sink.host, port: sink.port, onAmbiguous: 'hold' });
	await mesh.publish();
});
afterEach(async () => {
	for (const one of toStop.splice(0)) await one.stop();
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

const mailsOf = (id: string) => sink.mails.filter((mail) => mail.messageId.includes(id));

async function attemptsOf(id: string): Promise<unknown[]> {
	const { rows } = await mesh.db.pool.query(
		'select attempt_no, outcome, ambiguous, category, answer from delivery_attempt where id = $1 order by attempt_no',
		[id],
	);
	return rows;
}

async function ends(id: string, status: string): Promise<void> {
	await eventually(async () => (await standingOf(mesh.db, id)).status === status, { what: `record ${id} to be ${status}`, within: 25_000 });
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
}

/** A sender that stops with its test at the latest. */
async function work(): Promise<Running> {
	const running = await mesh.send();
	toStop.push(running);
	return running;
}

/** Stops a sender whose mails, one for each of these tenants, hang at this stage. */
async function stopAt(stage: SinkStage, senders: readonly Sender[], content: Buffer | null = null): Promise<string[]> {
	const hang = sink.script({ stage, answer: { kind: 'hang' } });
	const running = await work();
	const attachments = content === null ? [] : [{ filename: 'a.txt', contentType: 'text/plain', contentId: null, content }];
	const ids = await acceptRecords(
		mesh.db,
		senders.map((sender) => newRecord(sender, { attachments })),
	);
	await mesh.db.pool.query('update flow set next_at = now()');
	await hang.met(ids.length);
	await running.stop(2);
	// Long before the lease of two minutes is over.
	await eventually(async () => (await mesh.db.pool.query(`select from send_state where status = 'SENDING'`)).rowCount === 0, {
		what: 'nothing to be left in SENDING',
	});
	hang.release();
	return ids;
}

async function isGivenBack(id: string): Promise<void> {
	expect(await standingOf(mesh.db, id)).toMatchObject({ status: 'RETRY', attemptNo: 1, budgetUsed: 0, ambiguous: false, entries: 1 });
	expect(await attemptsOf(id)).toEqual([
		{ attempt_no: 1, outcome: 'UNKNOWN', ambiguous: false, category: null, answer: expect.stringContaining('given back') },
	]);
}

test.each<SinkStage>(['CONN', 'RCPT', 'DATA'])(
	'F39 a mail that hangs at %s when the sender stops is given back: due at once, nothing burnt or ambiguous',
	async (stage) => {
		const ids = await stopAt(stage, [resending, holding]);
		for (const id of ids) await isGivenBack(id);
		await work();
		for (const id of ids) await ends(id, 'SENT');
		for (const id of ids) expect(mailsOf(id)).toHaveLength(1);
	},
);

test('F39 a mail of which a part was given away when the sender stops is cut before its last byte and given back', async () => {
	// Larger than what the two sockets can hold, so that it cannot all have been given away.
	const [id = ''] = await stopAt('BODY', [resending], Buffer.alloc(6_000_000, 'x'));
	await isGivenBack(id);
	await work();
	await ends(id, 'SENT');
	expect(mailsOf(id)).toHaveLength(1);
}, 60_000);

test('F39 what was handed over whole and is not answered when the sender must end is settled as ambiguous at once, and keeps no lease', async () => {
	const [resent = '', held = ''] = await stopAt('DOT', [resending, holding]);
	expect(await standingOf(mesh.db, resent)).toMatchObject({ status: 'RETRY', budgetUsed: 1, ambiguous: true, entries: 1 });
	expect(await attemptsOf(resent)).toEqual([expect.objectContaining({ outcome: 'AMBIGUOUS', ambiguous: true, category: 'UNKNOWN' })]);
	expect(await standingOf(mesh.db, held)).toMatchObject({ status: 'HELD', ambiguous: true, entries: 0, pendingLetters: 1 });
});

test('F39 an answer that comes while the sender stops is written down', async () => {
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	const running = await work();
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(resending)]);
	await mesh.db.pool.query('update flow set next_at = now()');
	await hang.met();
	const stopping = running.stop();
	hang.release();
	await stopping;
	expect(await standingOf(mesh.db, id)).toMatchObject({ status: 'SENT', ambiguous: false, attemptNo: 1 });
});

test('F39 senders that are stopped again and again under load leave nothing in SENDING and nothing ambiguous, and each mail is sent once', async () => {
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: 600 }, (_, n) => newRecord(n % 2 === 0 ? resending : holding)),
	);
	await mesh.db.pool.query('update flow set next_at = now()');
	const sent = async (): Promise<number> => {
		const { rows } = await mesh.db.pool.query<{ n: number }>(
			`select count(*)::int as n from send_state where id = any($1) and status = 'SENT'`,
			[ids],
		);
		return rows[0]?.n ?? 0;
	};
	let stops = 0;
	for (let before = 0; before < ids.length; stops += 1) {
		const running = await work();
		const goal = Math.min(ids.length, before + 60);
		await eventually(async () => (await sent()) >= goal, { what: `${goal} records to be SENT`, within: 20_000 });
		await running.stop();
		const { rows } = await mesh.db.pool.query(`select from send_state where status = 'SENDING' or ambiguous and id = any($1)`, [ids]);
		expect(rows).toHaveLength(0);
		before = await sent();
	}
	expect(stops).toBeGreaterThan(2);
	for (const id of ids) expect(mailsOf(id)).toHaveLength(1);
}, 60_000);
