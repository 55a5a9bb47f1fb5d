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

/** Retries come at once, so that a test waits for nothing but what it tests. */
const QUICK = { ...DEFAULT_RETRY, baseSeconds: 0.05, jitter: 0, quotaFloorSeconds: 0.05 };

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	await mesh.publish();
	await mesh.send({ policyOf: () => QUICK, readSeconds: 20, deadlineSeconds: 60 });
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

const no = (code: number, enhancedCode: string, text: string) => ({ kind: 'refuse', code, enhancedCode, text }) as const;

async function ends(id: string, status: string): Promise<void> {
	const reached = async () => (await standingOf(mesh.db, id)).status === status;
	await eventually(reached, { what: `record ${id} to be ${status}`, within: 15_000 });
	expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
}

async function sendTo(addresses: readonly string[], from: Sender = sender, type = 'mail'): Promise<string> {
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(from, { type, recipients: addresses.map((one) => recipient(one)) })]);
	return id;
}

async function recipientsOf(id: string): Promise<string[]> {
	const { rows } = await mesh.db.pool.query('select n, outcome, category, code from send_recipient where id = $1 order by n', [id]);
	return rows.map((row) => `${row.n} ${row.outcome} ${row.category ?? '-'} ${row.code ?? '-'}`);
}

async function attemptsOf(id: string): Promise<string[]> {
	const { rows } = await mesh.db.pool.query('select outcome, category, ambiguous from delivery_attempt where id = $1 order by attempt_no', [
		id,
	]);
	return rows.map((row) => `${row.outcome} ${row.category ?? '-'}${row.ambiguous ? ' ambiguous' : ''}`);
}

test('K37 a recipient of an exhausted message stays open, one that a policy refuses is refused, and neither bounces', async () => {
	sink.script({ stage: 'RCPT', to: 'busy@example.com', answer: no(450, '4.2.0', 'mailbox busy') });
	sink.script({ stage: 'RCPT', to: 'policy@example.com', answer: no(550, '5.7.1', 'blocked by policy') });
	const busy = await sendTo(['busy@example.com']);
	const policy = await sendTo(['policy@example.com']);
	await ends(busy, 'DEAD_LETTER');
	await ends(policy, 'FAILED');
	expect(await recipientsOf(busy)).toEqual(['0 OPEN TRANSIENT 450']);
	expect(await attemptsOf(busy)).toEqual(Array(5).fill('REFUSED TRANSIENT'));
	expect(await recipientsOf(policy)).toEqual(['0 REFUSED PERMANENT 550']);
	expect(await attemptsOf(policy)).toEqual(['REFUSED PERMANENT']);
});

test('M37 recipients beyond the server’s number get the mail in the same attempt', async () => {
	const rule = sink.script({ stage: 'RCPT', to: 'late@example.com', times: 1, answer: no(452, '4.5.3', 'too many recipients') });
	const id = await sendTo(['early@example.com', 'late@example.com']);
	await ends(id, 'SENT');
	expect(rule.hits).toBe(1);
	expect(await attemptsOf(id)).toEqual(['ACCEPTED -']);
	expect(sink.mails.filter((mail) => mail.messageId.includes(id)).map((mail) => mail.to)).toEqual([
		['early@example.com'],
		['late@example.com'],
	]);
});

test('M50 of a mail in doubt whom RCPT refused is not addressed again, and the mail is told apart as partial', async () => {
	sink.script({ stage: 'RCPT', to: 'none@example.com', answer: no(550, '5.1.1', 'no such user') });
	const rule = sink.script({ stage: 'DOT', to: 'doubt@example.com', times: 1, answer: { kind: 'close' } });
	const id = await sendTo(['doubt@example.com', 'none@example.com']);
	await ends(id, 'SENT');
	expect(rule.hits).toBe(1);
	expect(await attemptsOf(id)).toEqual(['AMBIGUOUS UNKNOWN ambiguous', 'ACCEPTED -']);
	expect(await recipientsOf(id)).toEqual(['0 ACCEPTED - 250', '1 REFUSED PERMANENT 550']);
	const { rows } = await mesh.db.pool.query('select partial, ambiguous from send_state where id = $1', [id]);
	expect(rows).toEqual([{ partial: true, ambiguous: true }]);
});

test('a tenant’s own retry policy says how long a message of its type waits, field by field', async () => {
	const own = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	const settings = { retryTypes: { slow: { baseSeconds: 7_200, maxSeconds: 7_200 }, '*': { baseSeconds: 1_800 } } };
	await mesh.db.prisma.tenant.update({ where: { id: own.tenantId }, data: { settings } });
	sink.script({ stage: 'MAIL', times: 2, answer: no(451, '4.3.0', 'later') });
	const waitOf = async (type: string): Promise<number> => {
		const id = await sendTo(['ann@example.com'], own, type);
		await ends(id, 'RETRY');
		const text =
			'select extract(epoch from s.due_at - a.finished_at)::float8 as wait from send_state s join delivery_attempt a using (id) where s.id = $1';
		const { rows } = await mesh.db.pool.query<{ wait: number }>(text, [id]);
		return Math.round(rows[0]?.wait ?? 0);
	};
	expect(await waitOf('slow')).toBe(7_200);
	expect(await waitOf('mail')).toBe(1_800);
});
