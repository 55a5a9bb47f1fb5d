import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DEFAULT_RETRY } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, recipient, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { brokenLaws, standingOf } from './standing.js';

let mesh: Mesh;
let sink: SmtpSink;
let sender: Sender;
let holding: Sender;

const note = { filename: 'note.txt', contentType: 'text/plain', contentId: null, content: Buffer.from('note') };

/** Retries come at once, so that a test waits for nothing but what it tests. */
const QUICK = { ...DEFAULT_RETRY, baseSeconds: 0.05, jitter: 0, quotaFloorSeconds: 0.05 };

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	holding = await makeSender(mesh.db, { host: sink.host, port: sink.port, onAmbiguous: 'hold' });
	await mesh.publish();
	await mesh.send({ policyOf: () => QUICK, readSeconds: 20, deadlineSeconds: 60 });
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

const mailsOf = (id: string) => sink.mails.filter((mail) => mail.messageId.includes(id));
const statusOf = async (id: string) => (await standingOf(mesh.db, id)).status;

async function ends(id: string, status: string): Promise<void> {
	await eventually(async () => (await statusOf(id)) === status, { what: `record ${id} to be ${status}`, within: 15_000 });
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
}

async function attemptsOf(id: string): Promise<unknown[]> {
	const { rows } = await mesh.db.pool.query(
		'select attempt_no, outcome, stage, category, code, ambiguous from delivery_attempt where id = $1 order by attempt_no',
		[id],
	);
	return rows;
}

test('five hundred records are each sent once, end SENT and leave no outbox entry', async () => {
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: 500 }, () => newRecord(sender)),
	);
	await eventually(
		async () => {
			const { rows } = await mesh.db.pool.query(`select count(*)::int as n from send_state where id = any($1) and status = 'SENT'`, [ids]);
			return rows[0]?.n === 500;
		},
		{ what: '500 records to be SENT', within: 20_000 },
	);
	expect(new Set(sink.mails.map((mail) => mail.messageId)).size).toBe(500);
	expect(sink.mails).toHaveLength(500);
	const { rows } = await mesh.db.pool.query('select count(*)::int as n from outbox_entry');
	expect(rows).toEqual([{ n: 0 }]);
});

test('F30 of two recipients the refused one is told apart: the other is delivered once, and the record is SENT and partial', async () => {
	const rule = sink.script({
		stage: 'RCPT',
		to: 'gone@example.com',
		answer: { kind: 'refuse', code: 550, enhancedCode: '5.1.1', text: 'no such user' },
	});
	const [id = ''] = await acceptRecords(mesh.db, [
		newRecord(sender, { recipients: [recipient('ann@example.com'), recipient('gone@example.com')] }),
	]);
	await ends(id, 'SENT');
	rule.release();
	expect(mailsOf(id).map((mail) => mail.to)).toEqual([['ann@example.com']]);
	const { rows } = await mesh.db.pool.query(
		'select address, outcome, code, enhanced_code, answer from send_recipient where id = $1 order by n',
		[id],
	);
	expect(rows).toEqual([
		expect.objectContaining({ address: 'ann@example.com', outcome: 'ACCEPTED' }),
		{
			address: 'gone@example.com',
			outcome: 'REFUSED',
			code: '550',
			enhanced_code: '5.1.1',
			answer: expect.stringContaining('no such user'),
		},
	]);
	expect((await mesh.db.pool.query('select partial from send_state where id = $1', [id])).rows).toEqual([{ partial: true }]);
});

test('F24 a recipient that is put off is tried again alone', async () => {
	sink.script({
		stage: 'RCPT',
		to: 'later@example.com',
		times: 1,
		answer: { kind: 'refuse', code: 450, enhancedCode: '4.2.0', text: 'greylisted' },
	});
	const [id = ''] = await acceptRecords(mesh.db, [
		newRecord(sender, { recipients: [recipient('ann@example.com'), recipient('later@example.com')] }),
	]);
	await ends(id, 'SENT');
	expect(mailsOf(id).map((mail) => mail.to)).toEqual([['ann@example.com'], ['later@example.com']]);
	expect(await attemptsOf(id)).toEqual([
		expect.objectContaining({ attempt_no: 1, outcome: 'PARTIAL', category: 'TRANSIENT', stage: 'RCPT', code: '450' }),
		expect.objectContaining({ attempt_no: 2, outcome: 'ACCEPTED', category: null }),
	]);
});

test('K32 a refusal for good ends FAILED at the first try, without a letter', async () => {
	const rule = sink.script({ stage: 'RCPT', to: 'nobody@example.com', answer: { kind: 'refuse', code: 550, enhancedCode: '5.1.1' } });
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender, { recipients: [recipient('nobody@example.com')] })]);
	await ends(id, 'FAILED');
	rule.release();
	expect(await standingOf(mesh.db, id)).toMatchObject({ attemptNo: 1, budgetUsed: 1, pendingLetters: 0 });
});

test('a server that always puts off spends the budget and leaves a dead letter', async () => {
	const rule = sink.script({
		stage: 'RCPT',
		to: 'never@example.com',
		answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0', text: 'try tomorrow' },
	});
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender, { recipients: [recipient('never@example.com')] })]);
	await ends(id, 'DEAD_LETTER');
	rule.release();
	expect(await standingOf(mesh.db, id)).toMatchObject({ attemptNo: 5, budgetUsed: 5, pendingLetters: 1, attempts: 5 });
	const { rows } = await mesh.db.pool.query('select source, category, error from dead_letter_message where record_id = $1', [id]);
	expect(rows).toEqual([{ source: 'SEND_EXHAUSTED', category: 'TRANSIENT', error: 'try tomorrow' }]);
});

test('F26 silence after the dot is ambiguous: by resend the same Message-ID goes out again, by hold it waits for a person', async () => {
	const cut = sink.script({ stage: 'DOT', times: 1, answer: { kind: 'close', kept: true } });
	const [resent = ''] = await acceptRecords(mesh.db, [newRecord(sender)]);
	await cut.met();
	await ends(resent, 'SENT');
	expect(mailsOf(resent)).toHaveLength(2);
	expect(await standingOf(mesh.db, resent)).toMatchObject({ ambiguous: true, attemptNo: 2 });
	sink.script({ stage: 'DOT', times: 1, answer: { kind: 'close', kept: true } });
	const [held = ''] = await acceptRecords(mesh.db, [newRecord(holding)]);
	await ends(held, 'HELD');
	expect(mailsOf(held)).toHaveLength(1);
	expect(await attemptsOf(held)).toEqual([expect.objectContaining({ outcome: 'AMBIGUOUS', ambiguous: true })]);
});

test('F27 a cut before the dot is not ambiguous', async () => {
	sink.script({ stage: 'BODY', times: 1, answer: { kind: 'close' } });
	// Larger than what the two sockets can hold, so that it cannot all have been given away.
	const content = Buffer.alloc(12_000_000, 'x');
	const [id = ''] = await acceptRecords(mesh.db, [
		newRecord(sender, { attachments: [{ filename: 'large.txt', contentType: 'text/plain', contentId: null, content }] }),
	]);
	await ends(id, 'SENT');
	expect(mailsOf(id)).toHaveLength(1);
	expect(await standingOf(mesh.db, id)).toMatchObject({ ambiguous: false, attemptNo: 2 });
});

test('attachments arrive byte for byte', async () => {
	const content = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 256));
	const [id = ''] = await acceptRecords(mesh.db, [
		newRecord(sender, { attachments: [{ filename: '收據.bin', contentType: 'application/octet-stream', contentId: null, content }] }),
	]);
	await ends(id, 'SENT');
	const raw = mailsOf(id)[0]?.raw.toString() ?? '';
	expect(raw.replace(/\r\n/g, '')).toContain(content.toString('base64'));
});

test('a record that is due later waits, and its outbox entry with it', async () => {
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender, { notBefore: new Date(Date.now() + 3_600_000) })]);
	const [now = ''] = await acceptRecords(mesh.db, [newRecord(sender)]);
	await ends(now, 'SENT');
	expect(await standingOf(mesh.db, id)).toMatchObject({ status: 'PENDING', entries: 1 });
});

test('a record whose validUntil passes while it waits ends EXPIRED without a letter; by the default age it leaves one', async () => {
	const [said = '', unsaid = ''] = await acceptRecords(mesh.db, [
		newRecord(sender, { notBefore: new Date(Date.now() + 3_600_000), validUntil: new Date(Date.now() + 7_200_000) }),
		newRecord(sender, { notBefore: new Date(Date.now() + 3_600_000) }),
	]);
	await mesh.db.pool.query(`update send_state set not_after = now() - interval '1 second' where id = any($1)`, [[said, unsaid]]);
	await mesh.db.pool.query(`update send_record set valid_until = now() - interval '1 second' where id = $1`, [said]);
	await ends(said, 'EXPIRED');
	await ends(unsaid, 'EXPIRED');
});

test('a record whose mail server is gone ends as a dead letter that says so, and nothing is called ambiguous', async () => {
	const gone = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(gone)]);
	await mesh.db.prisma.mailSendServerConfig.delete({ where: { id: gone.configId } });
	await ends(id, 'DEAD_LETTER');
	expect(await standingOf(mesh.db, id)).toMatchObject({ attemptNo: 1, ambiguous: false });
	expect(await attemptsOf(id)).toEqual([expect.objectContaining({ outcome: 'REFUSED', category: 'CONFIG' })]);
});

test('a changed mail server sends what is accepted after the change, and what is under way by the former one is finished', async () => {
	const moved = await startSmtpSink();
	const changing = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	const before = await acceptRecords(
		mesh.db,
		Array.from({ length: 60 }, () => newRecord(changing, { attachments: [note] })),
	);
	await mesh.db.prisma.mailSendServerConfig.update({
		where: { id: changing.configId },
		data: { port: moved.port, version: { increment: 1 } },
	});
	const [after = ''] = await acceptRecords(mesh.db, [newRecord(changing)]);
	for (const id of [...before, after]) await ends(id, 'SENT');
	expect(moved.mails.some((mail) => mail.messageId.includes(after))).toBe(true);
	const { rows } = await mesh.db.pool.query('select count(*)::int as n from delivery_attempt where id = any($1)', [before]);
	expect(rows[0].n).toBe(60);
	await moved.close();
});
