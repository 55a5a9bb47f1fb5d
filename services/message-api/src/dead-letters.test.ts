import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archivePoisons, readPoison } from '@tidings/db';
import { encodeEnvelope, newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
let other: { key: string };
let triager: string;
let platformId: string;
let records: string[];
/** Letters of the tenant, the oldest first. */
let ids: string[];

beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	const capabilities = ['dead-letters:triage', 'content:read'];
	other = { key: (await api.call('/v1/api-keys', { ...there, body: { name: 'all', capabilities } })).body.key };
	triager = (await api.call('/v1/api-keys', { body: { name: 'triager', capabilities: ['dead-letters:triage'] } })).body.key;
	platformId = (await api.db.prisma.tenant.findFirstOrThrow({ where: { kind: 'PLATFORM' } })).id;
	const items = Array.from({ length: 3 }, (_, n) => ({ to: [`ann${n}@example.com`], subject: `Mail ${n}`, text: 'Hi', type: `kind.${n}` }));
	records = (await api.call('/v1/mails:batch', { body: { items } })).body.ids;
	ids = [];
	await letter({
		source: 'SEND_EXHAUSTED',
		recordId: records[0],
		type: 'kind.0',
		category: 'AUTH',
		error: '535 <ann0@example.com> 100% wrong',
	});
	await letter({
		source: 'AMBIGUOUS',
		recordId: records[1],
		type: 'kind.1',
		category: 'UNKNOWN',
		error: 'cut after the dot for user ANN1',
	});
	await letter({ source: 'EXPIRED', type: 'kind.2', error: null });
	await letter({
		...{ source: 'SEND_EXHAUSTED', recordId: records[0], type: 'kind.0', category: 'TRANSIENT', error: '451 a_b \\ later' },
		...{ status: 'RESOLVED', closedAt: new Date(), resolution: 'replayed', actor: 'key:1', note: 'mended' },
	});
	await bury('mail-send-normal', 'm1', encodeEnvelope({ recordId: records[2] ?? '', tenantId: api.tenantId, traceId: '0'.repeat(32) }));
	await bury('mail-send-normal', 'm2', Buffer.from('{"to":"eve@example.com"}'));
	ids.push((await api.db.prisma.deadLetterMessage.findFirstOrThrow({ where: { messageId: 'm1' } })).id);
});
afterAll(async () => await api.stop());

async function letter(data: { source: string; [field: string]: unknown }): Promise<void> {
	const { id } = await api.db.prisma.deadLetterMessage.create({ data: { id: newId(), tenantId: api.tenantId, channel: 'MAIL', ...data } });
	ids.push(id);
}

async function bury(topic: string, messageId: string, payload: Uint8Array): Promise<void> {
	await archivePoisons(api.db.pool, [{ ...readPoison({ topic, messageId, reason: 'the broker gave up', payload }), channel: 'MAIL' }]);
}

const list = async (query: string, key = api.apiKey): Promise<string[]> =>
	(await api.call(`/v1/dead-letters${query}`, { key })).body.data.map((one: { id: string }) => one.id);
const at = (...positions: number[]): (string | undefined)[] => positions.map((n) => ids[n]);

test('what is masked cannot be searched for either: an address does not come out character by character', async () => {
	for (const text of ['ann0', 'n0@', '0@example', 'ANN1', 'nn']) {
		expect((await list(`?text=${text}`)).length).toBeGreaterThan(0);
		const { body } = await api.call(`/v1/dead-letters?limit=1&text=${text}`, { key: triager });
		expect([text, body]).toEqual([text, { data: [], nextCursor: null }]);
	}
	expect(await list('?text=WRONG', triager)).toEqual(at(0));
	expect(await list('?text=kind.', triager)).toEqual(at(4, 3, 2, 1, 0));
	const first = (await api.call('/v1/dead-letters?limit=3&text=kind.', { key: triager })).body;
	expect(first.data.map((one: { id: string }) => one.id)).toEqual(at(4, 3, 2));
	expect(await list(`?limit=3&text=kind.&cursor=${first.nextCursor}`, triager)).toEqual(at(1, 0));
});

test('how many letters hold a text in what is masked shows neither in the cursor', async () => {
	await api.db.pool.query(
		`insert into dead_letter_message (id, tenant_id, source, channel, type, category, error)
		select uuid_v7(), $1, 'SEND_EXHAUSTED', 'MAIL', 'many', 'PERMANENT', 'no such user <secret@example.com>' from generate_series(1, 2100)`,
		[api.tenantId],
	);
	const [held, absent] = await Promise.all(
		['secret', 'absent'].map(async (text) => (await api.call(`/v1/dead-letters?text=${text}`, { key: triager })).body),
	);
	expect(held.data).toEqual([]);
	expect(held).toEqual(absent);
	await api.db.pool.query(`delete from dead_letter_message where type = 'many'`);
});

test('dead letters are listed newest first, and filters narrow them down', async () => {
	expect(await list('')).toEqual(at(4, 3, 2, 1, 0));
	expect(await list('?status=PENDING')).toEqual(at(4, 2, 1, 0));
	expect(await list('?status=RESOLVED')).toEqual(at(3));
	expect(await list('?status=DISCARDED')).toEqual([]);
	expect(await list('?source=BROKER_POISON')).toEqual(at(4));
	expect(await list('?source=SEND_EXHAUSTED&category=AUTH')).toEqual(at(0));
	expect(await list('?channel=MAIL&type=kind.1')).toEqual(at(1));
	expect(await list('?createdAfter=2020-01-01T00:00:00%2B08:00&createdBefore=2999-01-01T00:00:00Z')).toHaveLength(5);
	expect(await list('?createdAfter=2999-01-01T00:00:00Z')).toEqual([]);
	expect(await list('?createdBefore=2020-01-01T00:00:00Z')).toEqual([]);
});

test('a text is looked for literally, in errors and types, in whatever case', async () => {
	expect(await list('?text=THE%20DOT')).toEqual(at(1));
	expect(await list('?text=Kind.2')).toEqual(at(4, 2));
	expect(await list('?text=100%25%20wrong')).toEqual(at(0));
	expect(await list('?text=a_b')).toEqual(at(3));
	expect(await list('?text=a%25b')).toEqual([]);
	expect(await list('?text=axb')).toEqual([]);
	expect(await list('?text=%5C%20LATER')).toEqual(at(3));
	expect(await list(`?text=${'x'.repeat(200)}`)).toEqual([]);
});

test('pages join without a gap, also while new letters come', async () => {
	const first = (await api.call('/v1/dead-letters?limit=2')).body;
	await bury('mail-send-bulk', 'm3', encodeEnvelope({ recordId: records[2] ?? '', tenantId: api.tenantId, traceId: '0'.repeat(32) }));
	const second = (await api.call(`/v1/dead-letters?limit=2&cursor=${first.nextCursor}`)).body;
	const third = (await api.call(`/v1/dead-letters?limit=2&cursor=${second.nextCursor}`)).body;
	expect([first, second, third].flatMap((page) => page.data.map((one: { id: string }) => one.id))).toEqual(at(4, 3, 2, 1, 0));
	expect(third.nextCursor).toBeNull();
	await api.db.pool.query(`delete from dead_letter_message where message_id = 'm3'`);
});

test.each([
	'?limit=0',
	'?limit=201',
	'?cursor=x',
	'?status=OPEN',
	'?source=LOST',
	'?channel=FAX',
	'?category=NONE',
	'?type=a%00',
	'?text=',
	'?text=a%00',
	`?text=${'x'.repeat(201)}`,
	'?createdAfter=yesterday',
	'?createdBefore=2026-11-30',
	'?recordId=01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	'?status=PENDING&status=RESOLVED',
])('the query %s is refused', async (query) => {
	const { status, body } = await api.call(`/v1/dead-letters${query}`);
	expect([status, body.code]).toEqual([400, 'malformed-request']);
});

test('a letter is shown with its message, the newest attempts first, and what is sent', async () => {
	const [id] = ids;
	for (const attemptNo of [1, 2])
		await api.db.pool.query(
			`insert into delivery_attempt (id, attempt_no, tenant_id, provider, worker, started_at, outcome, category, stage, code, answer) values ($1, $2, $3, 'smtp', 'w', now(), 'REFUSED', 'AUTH', 'AUTH', '535', 'no ann0@example.com (ann0)')`,
			[records[0], attemptNo, api.tenantId],
		);
	const { status, body } = await api.call(`/v1/dead-letters/${id}`);
	expect(status).toBe(200);
	expect(body).toEqual({
		id,
		source: 'SEND_EXHAUSTED',
		status: 'PENDING',
		recordId: records[0],
		channel: 'MAIL',
		type: 'kind.0',
		category: 'AUTH',
		error: '535 <ann0@example.com> 100% wrong',
		topic: null,
		messageId: null,
		resolution: null,
		note: null,
		actor: null,
		createdAt: expect.stringMatching(/Z$/),
		closedAt: null,
		envelope: null,
		record: {
			id: records[0],
			status: 'PENDING',
			subject: 'Mail 0',
			recipients: [{ role: 'to', address: 'ann0@example.com', outcome: 'OPEN', code: null, enhancedCode: null, text: null }],
			attempts: 0,
			budgetUsed: 0,
			budgetMax: 5,
			partial: false,
			ambiguous: false,
			dueAt: expect.any(String),
			createdAt: expect.any(String),
			lastAttempts: [
				expect.objectContaining({ attemptNo: 2, text: 'no ann0@example.com (ann0)' }),
				expect.objectContaining({ attemptNo: 1, category: 'AUTH', stage: 'AUTH', code: '535' }),
			],
			content: expect.objectContaining({ subject: 'Mail 0', text: 'Hi', html: null, attachments: [] }),
		},
	});
	expect((await api.call(`/v1/dead-letters/${ids[3]}`)).body).toMatchObject({
		status: 'RESOLVED',
		resolution: 'replayed',
		actor: 'key:1',
		note: 'mended',
		closedAt: expect.stringMatching(/Z$/),
	});
	expect((await api.call(`/v1/dead-letters/${ids[2]}`)).body).toMatchObject({ recordId: null, record: null, error: null });
});

test('poison is shown with its origin and envelope, and its message names it as its open letter', async () => {
	const { body } = await api.call(`/v1/dead-letters/${ids[4]}`);
	expect(body).toMatchObject({
		source: 'BROKER_POISON',
		topic: 'mail-send-normal',
		messageId: 'm1',
		error: 'the broker gave up',
		recordId: records[2],
	});
	expect(JSON.parse(body.envelope)).toMatchObject({ v: 1, recordId: records[2], tenantId: api.tenantId });
	expect(body.record).toMatchObject({ id: records[2], status: 'PENDING', lastAttempts: [] });
	for (const [n, id] of records.entries()) expect((await api.call(`/v1/messages/${id}`)).body.deadLetterId).toBe(ids[[0, 1, 4][n] ?? 0]);
});

test('without content:read addresses are masked wherever they stand, and contents are absent', async () => {
	const { body: page } = await api.call('/v1/dead-letters', { key: triager });
	expect(page.data.map((one: { error: string | null }) => one.error)).toEqual([
		'the broker gave up',
		'451 a_b \\ later',
		null,
		'cut after the dot for user A•••',
		'535 <a•••@example.com> 100% wrong',
	]);
	const { body } = await api.call(`/v1/dead-letters/${ids[0]}`, { key: triager });
	expect(body).toMatchObject({ error: '535 <a•••@example.com> 100% wrong' });
	expect(body.record).toMatchObject({ subject: null, content: null, recipients: [{ address: 'a•••@example.com' }] });
	expect(body.record.lastAttempts[0].text).toBe('no a•••@example.com (a•••)');
	const there = { headers: { 'tidings-tenant': platformId } };
	const { body: poison } = await api.call('/v1/dead-letters', { key: api.platformKey, ...there });
	const keyed = await api.call('/v1/api-keys', {
		key: api.platformKey,
		...there,
		body: { name: 'p', capabilities: ['dead-letters:triage'] },
	});
	const masked = await api.call(`/v1/dead-letters/${poison.data[0].id}`, { key: keyed.body.key });
	expect(masked.body).toMatchObject({ messageId: 'm2', envelope: '{"to":"e•••@example.com"}', record: null });
});

test('letters are for those who may triage, each tenant’s own; the platform sees those of a tenant that it names', async () => {
	const reader = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:read', 'content:read'] } })).body.key;
	for (const path of ['/v1/dead-letters', `/v1/dead-letters/${ids[0]}`])
		expect((await api.call(path, { key: reader })).body).toMatchObject({
			status: 403,
			detail: expect.stringContaining('`dead-letters:triage`'),
		});
	for (const id of [...ids, newId()])
		expect((await api.call(`/v1/dead-letters/${id}`, other)).body).toMatchObject({ status: 404, code: 'not-found' });
	expect((await api.call('/v1/dead-letters/x')).status).toBe(404);
	expect(await list('', other.key)).toEqual([]);
	const { body: page } = await api.call('/v1/dead-letters?limit=2');
	expect(await list(`?cursor=${page.nextCursor}`, other.key)).toEqual([]);
	const { body: platform } = await api.call('/v1/dead-letters', { key: api.platformKey });
	expect(platform.data.map((one: { messageId: string }) => one.messageId)).toEqual(['m2']);
	const named = await api.call('/v1/dead-letters', { key: api.platformKey, headers: { 'tidings-tenant': api.tenantId } });
	expect(named.body.data.map((one: { id: string }) => one.id)).toEqual(at(4, 3, 2, 1, 0));
});
