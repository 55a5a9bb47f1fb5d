import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archivePoisons, readPoison } from '@tidings/db';
import { encodeEnvelope, newId } from '@tidings/model';
import { type Answer, startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
let other: string;

beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const capabilities = ['dead-letters:triage', 'content:read'];
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id }, body: { name: 'all', capabilities } };
	other = (await api.call('/v1/api-keys', there)).body.key;
});
afterAll(async () => await api.stop());

type Ended = 'DEAD_LETTER' | 'HELD' | 'EXPIRED' | 'SENT';

/** A message that ended so, and its open letter unless it was SENT. */
async function end(status: Ended, mail: object = {}): Promise<{ id: string; letterId: string }> {
	const { pool } = api.db;
	const body = { to: ['ann@example.com', 'bo@example.com'], subject: 'Hello', text: 'Hi', type: 'order.confirmed', ...mail };
	const id: string = (await api.call('/v1/mails', { body })).body.id;
	await pool.query('delete from outbox_entry where id = $1', [id]);
	await pool.query(
		`update send_state set status = 'SENDING', version = version + 1, attempt_no = 1, due_at = null, lease_until = now(), claimed_at = now(), claimed_by = 'w' where id = $1`,
		[id],
	);
	await pool.query(
		`update send_state set status = $2, version = version + 1, budget_used = 5, lease_until = null, claimed_at = null, claimed_by = null, reason = 'spent',
			finished_at = case $2 when 'HELD' then null else now() end, sent_at = case $2 when 'SENT' then now() end where id = $1`,
		[id, status],
	);
	const source = { DEAD_LETTER: 'SEND_EXHAUSTED', HELD: 'AMBIGUOUS', EXPIRED: 'EXPIRED', SENT: 'SEND_EXHAUSTED' }[status];
	return { id, letterId: await letter({ source, recordId: id }) };
}

async function letter(data: { source: string; recordId?: string }): Promise<string> {
	const more = { id: newId(), tenantId: api.tenantId, channel: 'MAIL', type: 'order.confirmed', error: 'no' };
	return (await api.db.prisma.deadLetterMessage.create({ data: { ...more, ...data } })).id;
}

/** What the broker gave up on, about a message. */
async function bury(recordId: string): Promise<string> {
	const payload = encodeEnvelope({ recordId, tenantId: api.tenantId, traceId: '0'.repeat(32) });
	const poison = readPoison({ topic: 'mail-send-normal', messageId: newId(), reason: 'the broker gave up', payload });
	const [made] = await archivePoisons(api.db.pool, [{ ...poison, channel: 'MAIL' }]);
	return made?.id ?? '';
}

const act = (id: string, verb: string, more: { key?: string; body?: object } = {}): Promise<Answer> =>
	api.call(`/v1/dead-letters/${id}:${verb}`, { method: 'POST', ...more });
const state = async (id: string) => await api.db.prisma.sendState.findFirstOrThrow({ where: { id } });
const entries = async (id: string) => await api.db.prisma.outboxEntry.findMany({ where: { id } });
const audits = async (subjectId: string) =>
	(await api.db.prisma.auditEvent.findMany({ where: { subjectId }, orderBy: { id: 'asc' } })).map(({ action, detail }) => [action, detail]);

test.each([
	['resolve', 'RESOLVED', 'resolved'],
	['discard', 'DISCARDED', 'discarded'],
])('%s closes a letter with its note and leaves its message as it is; the audit tells it', async (verb, status, resolution) => {
	const { id, letterId } = await end('DEAD_LETTER');
	const before = await state(id);
	const { status: code, body } = await act(letterId, verb, { body: { note: 'by telephone' } });
	expect([code, body]).toEqual([
		200,
		expect.objectContaining({ id: letterId, status, resolution, note: 'by telephone', actor: expect.stringMatching(/^key:/) }),
	]);
	expect(body.closedAt).toMatch(/Z$/);
	expect(await state(id)).toEqual(before);
	expect(await entries(id)).toEqual([]);
	expect(await audits(letterId)).toEqual([[`dead-letter.${verb}`, { from: 'PENDING', to: status, messageId: id, note: 'by telephone' }]]);
	for (const again of ['resolve', 'discard', 'replay'])
		expect((await act(letterId, again)).body).toMatchObject({
			status: 409,
			code: 'state-conflict',
			detail: `The letter is ${status} (${resolution}): only a PENDING one can be acted on.`,
		});
	expect(await audits(letterId)).toHaveLength(1);
});

test.each(['DEAD_LETTER', 'EXPIRED'] as const)(
	'replay of what is %s gives one new try, a fresh outbox entry and a new deadline',
	async (status) => {
		const { id, letterId } = await end(status);
		await api.db.pool.query(`update send_state set not_after = now() - interval '1 day' where id = $1`, [id]);
		const { status: code, body } = await act(letterId, 'replay', { body: { note: 'password mended' } });
		expect([code, body]).toEqual([200, expect.objectContaining({ status: 'RESOLVED', resolution: 'replayed', note: 'password mended' })]);
		const after = await state(id);
		expect(after).toMatchObject({ status: 'RETRY', budgetUsed: 5, budgetMax: 6, attemptNo: 1, reason: null, finishedAt: null });
		expect(Number(after.notAfter)).toBeGreaterThan(Date.now() + 71 * 3_600_000);
		expect(await entries(id)).toMatchObject([{ status: 'NEW', tenantId: api.tenantId, nacks: 0 }]);
		expect(await audits(letterId)).toEqual([['dead-letter.replay', { messageId: id, replayId: null, note: 'password mended' }]]);
		expect(await audits(id)).toEqual([['message.retry', { from: status, to: 'RETRY', deadLetterId: letterId, note: 'password mended' }]]);
		const { body: timeline } = await api.call(`/v1/messages/${id}/timeline`);
		expect(timeline.data).toContainEqual(expect.objectContaining({ event: 'acted', action: 'message.retry', note: 'password mended' }));
	},
);

test('replay of what is HELD sends it again, as a release with resend does', async () => {
	const { id, letterId } = await end('HELD');
	expect((await act(letterId, 'replay')).body).toMatchObject({ status: 'RESOLVED', resolution: 'replayed', note: null });
	expect(await state(id)).toMatchObject({ status: 'RETRY', budgetUsed: 5, budgetMax: 6 });
	expect(await entries(id)).toMatchObject([{ status: 'NEW' }]);
	expect(await audits(id)).toEqual([
		['message.release', { from: 'HELD', to: 'RETRY', resolution: 'resend', deadLetterId: letterId, note: null }],
	]);
});

test('replay addresses only who is open, and asks all again when all were refused for good', async () => {
	const outcomes = async (id: string): Promise<string[]> =>
		(await api.db.prisma.sendRecipient.findMany({ where: { id }, orderBy: { n: 'asc' } })).map((one) => one.outcome);
	const some = await end('DEAD_LETTER');
	await api.db.pool.query(`update send_recipient set outcome = 'REFUSED' where id = $1 and n = 0`, [some.id]);
	await act(some.letterId, 'replay');
	expect(await outcomes(some.id)).toEqual(['REFUSED', 'OPEN']);
	const none = await end('DEAD_LETTER');
	await api.db.pool.query(`update send_recipient set outcome = case n when 0 then 'REFUSED' else 'ACCEPTED' end where id = $1`, [none.id]);
	await act(none.letterId, 'replay');
	expect(await outcomes(none.id)).toEqual(['OPEN', 'ACCEPTED']);
});

test('a poison letter publishes its message again while that waits, whatever became of its entry, and burns nothing', async () => {
	const id: string = (await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' } })).body.id;
	await api.db.pool.query(`update outbox_entry set status = 'PUBLISHING', taken = true, lease_until = now() where id = $1`, [id]);
	await api.db.pool.query(
		`update outbox_entry set status = 'DEAD', taken = null, lease_until = null, refusals = 10, nacks = 3 where id = $1`,
		[id],
	);
	const letterId = await bury(id);
	expect((await act(letterId, 'replay')).body).toMatchObject({ source: 'BROKER_POISON', status: 'RESOLVED', resolution: 'replayed' });
	expect(await state(id)).toMatchObject({ status: 'PENDING', budgetMax: 5, budgetUsed: 0 });
	expect(await entries(id)).toMatchObject([{ status: 'NEW', refusals: 0, nacks: 0 }]);
});

test('a poison letter of a message that was given up for it is replayed like any other', async () => {
	const { id, letterId: former } = await end('DEAD_LETTER');
	await api.db.pool.query('delete from dead_letter_message where id = $1', [former]);
	expect((await act(await bury(id), 'replay')).body).toMatchObject({ source: 'BROKER_POISON', status: 'RESOLVED' });
	expect(await state(id)).toMatchObject({ status: 'RETRY', budgetMax: 6 });
});

test('what cannot be replayed is refused and says why, and the letter stays open', async () => {
	const { id: sent, letterId } = await end('SENT');
	const { id: arrived, letterId: former } = await end('SENT');
	await api.db.pool.query('delete from dead_letter_message where id = $1', [former]);
	const poison = await bury(arrived);
	const unknown = await letter({ source: 'EXPIRED' });
	const lost = await letter({ source: 'SEND_EXHAUSTED', recordId: newId() });
	const { letterId: late } = await end('EXPIRED', { validUntil: new Date(Date.now() + 3_600_000).toISOString() });
	await api.db.pool.query(
		`update send_record set valid_until = now() where id = (select record_id from dead_letter_message where id = $1)`,
		[late],
	);
	expect((await act(letterId, 'replay')).body).toMatchObject({ status: 409, detail: expect.stringMatching(/^The message is SENT\. /) });
	expect((await act(poison, 'replay')).body).toMatchObject({ status: 409, detail: expect.stringMatching(/^The message is SENT\. /) });
	expect((await act(unknown, 'replay')).body).toMatchObject({ status: 409, detail: expect.stringContaining('No message is known') });
	expect((await act(lost, 'replay')).body).toMatchObject({ status: 409, detail: expect.stringContaining('not kept any more') });
	expect((await act(late, 'replay')).body).toMatchObject({ status: 422, errors: [{ pointer: '', code: 'in-the-past' }] });
	for (const one of [letterId, poison, unknown, lost, late]) {
		expect((await api.call(`/v1/dead-letters/${one}`)).body).toMatchObject({ status: 'PENDING', resolution: null });
		expect(await audits(one)).toEqual([]);
	}
	expect(await entries(sent)).toEqual([]);
});

test('of two operators who act at once one wins, and the other is told the state', async () => {
	for (const verbs of [
		['replay', 'replay'],
		['replay', 'discard'],
		['resolve', 'discard'],
	]) {
		const { id, letterId } = await end('DEAD_LETTER');
		const answers = await Promise.all([...verbs, ...verbs, ...verbs].map((verb) => act(letterId, verb)));
		expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
		expect(await audits(letterId)).toHaveLength(1);
		const winner = answers.find(({ status }) => status === 200)?.body.resolution;
		expect(await entries(id)).toHaveLength(winner === 'replayed' ? 1 : 0);
		expect((await state(id)).status).toBe(winner === 'replayed' ? 'RETRY' : 'DEAD_LETTER');
	}
});

test('a retry of the message and a replay of its letter act once', async () => {
	const { id, letterId } = await end('DEAD_LETTER');
	const [retried, replayed] = await Promise.all([api.call(`/v1/messages/${id}:retry`, { method: 'POST' }), act(letterId, 'replay')]);
	expect(retried?.status).toBe(200);
	expect([200, 409]).toContain(replayed?.status);
	expect(await state(id)).toMatchObject({ status: 'RETRY', budgetMax: 6 });
	expect(await entries(id)).toHaveLength(1);
	// A retry of what is RETRY already changes nothing, and may be told beside the replay that came before it.
	const moves = (await audits(id)).filter(([, detail]) => (detail as { from: string }).from === 'DEAD_LETTER');
	expect(moves).toHaveLength(1);
	expect(await audits(letterId)).toHaveLength(replayed?.status === 200 ? 1 : 0);
	expect((await api.call(`/v1/dead-letters/${letterId}`)).body.resolution).toBe(replayed?.status === 200 ? 'replayed' : 'retried');
});

test('each act on a letter is counted by what became of it, and what is not there is not', async () => {
	const counts = async (): Promise<Record<string, number>> => {
		const page = await api.metrics.registry.metrics();
		const rows = page.matchAll(/^tidings_dead_letter_actions_total\{action="(\w+)",result="(\w+)"\} (\d+)$/gm);
		return Object.fromEntries([...rows].map(([, action, result, n]) => [`${action} ${result}`, Number(n)]));
	};
	const before = await counts();
	for (const verb of ['resolve', 'discard', 'replay']) {
		const { letterId } = await end('DEAD_LETTER');
		for (const _ of [1, 2, 3]) await act(letterId, verb);
		await act(newId(), verb);
	}
	const after = await counts();
	const risen = Object.entries(after).map(([key, n]) => [key, n - (before[key] ?? 0)]);
	expect(Object.fromEntries(risen)).toEqual({
		...{ 'resolve done': 1, 'discard done': 1, 'replay done': 1, 'resolve refused': 2, 'discard refused': 2, 'replay refused': 2 },
		...{ 'resolve failed': 0, 'discard failed': 0, 'replay failed': 0 },
	});
});

test('a letter is acted on by those who may triage its tenant, and by nobody else', async () => {
	const { letterId } = await end('DEAD_LETTER');
	const { key } = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:act', 'content:read'] } })).body;
	for (const verb of ['resolve', 'discard', 'replay']) {
		expect((await act(letterId, verb, { key: other })).body).toMatchObject({ status: 404, code: 'not-found' });
		expect((await act(newId(), verb)).body).toMatchObject({ status: 404 });
		expect((await act(letterId, verb, { key })).body).toMatchObject({
			status: 403,
			detail: expect.stringContaining('`dead-letters:triage`'),
		});
		expect((await act(letterId, verb, { body: { note: 'a\u0000', why: 1 } })).body.errors).toEqual([
			expect.objectContaining({ pointer: '/why', code: 'unknown-field' }),
			expect.objectContaining({ pointer: '/note', code: 'control-character' }),
		]);
	}
	expect((await api.call(`/v1/dead-letters/${letterId}`)).body.status).toBe('PENDING');
});
