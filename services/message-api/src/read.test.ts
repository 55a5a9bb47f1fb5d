import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
let other: { key: string };
let reader: string;
let ids: string[];

beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	const { body: key } = await api.call('/v1/api-keys', {
		...there,
		body: { name: 'all', capabilities: ['messages:read', 'messages:act', 'content:read', 'providers:write', 'messages:send'] },
	});
	other = { key: key.key };
	reader = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:read'] } })).body.key;
	const items = Array.from({ length: 7 }, (_, n) => ({
		to: [`ann${n % 2}@example.com`],
		subject: `Mail ${n}`,
		text: 'Hi',
		type: n < 3 ? 'first' : 'second',
		metadata: { n: String(n), odd: String(n % 2) },
		...(n === 0 ? { dedupeKey: 'first' } : {}),
	}));
	ids = (await api.call('/v1/mails:batch', { body: { items } })).body.ids;
});
afterAll(async () => await api.stop());

const list = async (query: string): Promise<string[]> =>
	(await api.call(`/v1/messages${query}`)).body.data.map((one: { id: string }) => one.id);
const at = (...positions: number[]): (string | undefined)[] => positions.map((n) => ids[n]);

test('messages are listed newest first, and filters narrow them down', async () => {
	expect(await list('')).toEqual(at(6, 5, 4, 3, 2, 1, 0));
	expect(await list('?type=first')).toEqual(at(2, 1, 0));
	expect(await list('?recipient=ann1@EXAMPLE.com')).toEqual(at(5, 3, 1));
	expect(await list('?metadata.odd=0&type=second')).toEqual(at(6, 4));
	expect(await list('?metadata.odd=0&metadata.n=4')).toEqual(at(4));
	expect(await list('?status=PENDING&channel=MAIL&limit=2')).toEqual(at(6, 5));
	expect(await list('?status=SENT')).toEqual([]);
	expect(await list(`?notificationId=${newId()}`)).toEqual([]);
	expect(await list('?createdAfter=2020-01-01T00:00:00%2B08:00&createdBefore=2999-01-01T00:00:00Z')).toHaveLength(7);
	expect(await list('?createdAfter=2999-01-01T00:00:00Z')).toEqual([]);
	expect(await list('?createdBefore=2020-01-01T00:00:00Z')).toEqual([]);
});

test('pages join without a gap, also while new messages come', async () => {
	const first = (await api.call('/v1/messages?limit=3')).body;
	await api.call('/v1/mails', { body: { to: ['new@example.com'], subject: 'New', text: 'x', type: 'new' } });
	const second = (await api.call(`/v1/messages?limit=3&cursor=${first.nextCursor}`)).body;
	const third = (await api.call(`/v1/messages?limit=3&cursor=${second.nextCursor}`)).body;
	expect([first, second, third].flatMap((page) => page.data.map((one: { id: string }) => one.id))).toEqual(at(6, 5, 4, 3, 2, 1, 0));
	expect(third.nextCursor).toBeNull();
});

test.each([
	'?limit=0',
	'?limit=201',
	'?limit=x',
	'?limit=-1',
	'?cursor=x',
	'?cursor=',
	'?status=LOST',
	'?type=a%00',
	'?metadata.a=x%00',
	'?recipient=x',
	'?createdAfter=yesterday',
	'?createdAfter=2026-11-30',
	'?colour=red',
	'?type=a&type=b',
	'?notificationId=1',
	'?notificationId=urn:uuid:01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	'?createdAfter=9999-12-31T23:59:59-01:00',
	'?type=%zz',
	'?type=%ff',
	'?metadata=',
])('the query %s is refused', async (query) => {
	const { status, body } = await api.call(`/v1/messages${query}`);
	expect([status, body.code]).toEqual([400, 'malformed-request']);
});

test('without content:read addresses are masked, also in answers, and contents are absent', async () => {
	const [id] = ids;
	await api.db.pool.query(
		`update send_recipient set answer = '550 <ann0@example.com> unknown: no user ANN0', outcome = 'REFUSED' where id = $1`,
		[id],
	);
	await api.db.pool.query(
		`insert into delivery_attempt (id, attempt_no, tenant_id, provider, worker, started_at, outcome, category, stage, code, answer) values ($1, 1, $2, 'smtp', 'w', now(), 'REFUSED', 'PERMANENT', 'RCPT', '550', 'no ann0@example.com (ann0)')`,
		[id, api.tenantId],
	);
	const { body } = await api.call(`/v1/messages/${id}`, { key: reader });
	expect(body).toMatchObject({
		subject: null,
		recipients: [{ address: 'a•••@example.com', text: '550 <a•••@example.com> unknown: no user A•••' }],
		dedupeKey: 'first:MAIL:•••',
		lastError: { category: 'PERMANENT', stage: 'RCPT', code: '550', enhancedCode: null, text: 'no a•••@example.com (a•••)' },
	});
	expect((await api.call(`/v1/messages/${id}/attempts`, { key: reader })).body.data).toMatchObject([
		{ attemptNo: 1, tryNo: 1, text: 'no a•••@example.com (a•••)', worker: 'w', ambiguous: false },
	]);
	expect((await api.call(`/v1/messages/${id}/content`, { key: reader })).body).toMatchObject({
		status: 403,
		detail: expect.stringContaining('`content:read`'),
	});
	expect((await api.call(`/v1/messages/${id}`)).body).toMatchObject({
		subject: 'Mail 0',
		dedupeKey: expect.stringMatching(/^first:MAIL:[0-9a-f]{64}$/),
		recipients: [{ address: 'ann0@example.com', text: '550 <ann0@example.com> unknown: no user ANN0' }],
	});
	expect((await api.call('/v1/messages', { key: reader })).body.data.every((one: { subject: unknown }) => one.subject === null)).toBe(true);
});

test('another tenant’s messages and servers are not there, whatever is asked', async () => {
	const [id] = ids;
	const { body: servers } = await api.call('/v1/mail-servers');
	const paths = ['', '/attempts', '/timeline', '/content'].map((path) => ['GET', `/v1/messages/${id}${path}`]);
	const acts = [':cancel', ':retry'].map((verb) => ['POST', `/v1/messages/${id}${verb}`]);
	for (const [method, path] of [...paths, ...acts, ['GET', `/v1/mail-servers/${servers.data[0].id}`]]) {
		const { status, body } = await api.call(path ?? '', { ...other, method: method ?? '' });
		expect([path, status, body.code]).toEqual([path, 404, 'not-found']);
	}
	expect((await api.call(`/v1/messages/${id}:release`, { ...other, body: { resolution: 'resend' } })).status).toBe(404);
	expect((await api.call('/v1/messages', other)).body.data).toEqual([]);
	const { body: page } = await api.call('/v1/messages?limit=2');
	expect((await api.call(`/v1/messages?cursor=${page.nextCursor}`, other)).body.data).toEqual([]);
	expect((await api.call('/v1/mail-servers', other)).body.data).toEqual([]);
	const pinned = { to: ['ann@example.com'], subject: 's', text: 't', serverId: servers.data[0].id };
	expect((await api.call('/v1/mails', { ...other, body: pinned })).body.errors).toMatchObject([
		{ code: 'server-unknown', pointer: '/serverId' },
	]);
	expect((await api.call(`/v1/messages/${id}`)).body.status).toBe('PENDING');
});

test('acts answer the message as it is then, and a state that has no such act is told', async () => {
	const id = ids[1];
	const cancelled = await api.call(`/v1/messages/${id}:cancel`, { body: { note: 'ordered twice' } });
	expect(cancelled).toMatchObject({ status: 200, body: { id, status: 'CANCELLED', mayHaveBeenSent: false, dueAt: null } });
	expect(await api.call(`/v1/messages/${id}:cancel`, { method: 'POST' })).toMatchObject({
		status: 409,
		body: { code: 'state-conflict', detail: expect.stringContaining('CANCELLED') },
	});
	expect((await api.call(`/v1/messages/${id}:release`, { body: { resolution: 'failed' } })).status).toBe(409);
	const retried = await api.call(`/v1/messages/${id}:retry`, { method: 'POST' });
	expect(retried).toMatchObject({ status: 200, body: { status: 'RETRY', budgetMax: 1 } });
	expect(retried.body.mayHaveBeenSent).toBeUndefined();
	const { body } = await api.call(`/v1/messages/${id}/timeline`);
	expect(body.data.map((one: { event: string; action: string | null; note: string | null }) => [one.event, one.action, one.note])).toEqual([
		['accepted', null, null],
		['acted', 'message.cancel', 'ordered twice'],
		['acted', 'message.retry', null],
	]);
	expect(body.data[1].actor).toMatch(/^key:[0-9a-f]{16}$/);
	expect((await api.call(`/v1/messages/${id}:release`, { body: { resolution: 'lose' } })).body.errors).toMatchObject([
		{ code: 'not-one-of', pointer: '/resolution' },
	]);
	expect((await api.call(`/v1/messages/${id}:cancel`, { body: { note: 'a\0' } })).body.errors).toMatchObject([
		{ code: 'control-character', pointer: '/note' },
	]);
	expect((await api.call(`/v1/messages/${id}:cancel`, { key: reader, method: 'POST' })).body.detail).toContain('`messages:act`');
});

test('a timeline shows the newest 1,000 of what people did, however often that was', async () => {
	const id = ids[6];
	await api.db.pool.query(
		`insert into audit_event (id, tenant_id, actor, action, subject_type, subject_id, detail)
		select uuid_v7(), $1, 'key:1', 'message.retry', 'message', $2, jsonb_build_object('note', n) from generate_series(1, 1005) as n`,
		[api.tenantId, id],
	);
	await api.call(`/v1/messages/${id}:retry`, { body: { note: 'the newest' } });
	const { body } = await api.call(`/v1/messages/${id}/timeline`);
	const acts = body.data.filter((one: { event: string }) => one.event === 'acted');
	expect([acts.length, acts.at(-1).note, body.data[0].event]).toEqual([1_000, 'the newest', 'accepted']);
});

test('a message was published before it was claimed, also when its sender was quicker than the note of its publisher', async () => {
	const { id } = (await api.call('/v1/mails', { body: { to: ['eve@example.com'], subject: 's', text: 't' } })).body;
	await api.db.pool.query(
		`insert into delivery_attempt (id, attempt_no, tenant_id, provider, worker, started_at, published_at, finished_at, outcome)
		values ($1, 1, $2, 'smtp', 'w', now(), now() + interval '3 ms', now() + interval '9 ms', 'ACCEPTED')`,
		[id, api.tenantId],
	);
	const { body } = await api.call(`/v1/messages/${id}/timeline`);
	expect(body.data.map((one: { event: string }) => one.event)).toEqual(['accepted', 'published', 'claimed', 'attempt']);
});
