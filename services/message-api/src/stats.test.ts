import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';

const DAY_MS = 86_400_000;
let api: TestApi;
let serverId: string;
let reader: string;

beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	serverId = (await api.call('/v1/mail-servers', { body: server })).body.id;
	reader = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:read'] } })).body.key;
	const items = Array.from({ length: 7 }, (_, n) => ({
		to: [`ann${n}@example.com`],
		subject: `Mail ${n}`,
		text: 'Hi',
		type: n < 3 ? 'b.first' : 'B.second',
		priority: n < 2 ? 'urgent' : 'normal',
	}));
	const { ids } = (await api.call('/v1/mails:batch', { body: { items } })).body;
	await api.call(`/v1/messages/${ids[0]}:cancel`, { method: 'POST' });
});
afterAll(async () => await api.stop());

const stats = async (query = '', key = reader) => await api.call(`/v1/stats${query}`, { key });

test('messages are counted by channel and status, those of the last day when nothing else is asked for', async () => {
	const { status, body } = await stats();
	expect(status).toBe(200);
	expect(body).toMatchObject({
		by: ['channel', 'status'],
		data: [
			{ channel: 'MAIL', status: 'CANCELLED', count: 1 },
			{ channel: 'MAIL', status: 'PENDING', count: 6 },
		],
	});
	expect(Date.parse(body.to) - Date.parse(body.from)).toBe(DAY_MS);
});

test('what is counted by is asked for, and groups stand in the order of their values', async () => {
	expect((await stats('?by=type')).body.data).toEqual([
		{ type: 'B.second', count: 4 },
		{ type: 'b.first', count: 3 },
	]);
	expect((await stats('?by=priority,status')).body.data).toEqual([
		{ priority: 'normal', status: 'PENDING', count: 5 },
		{ priority: 'urgent', status: 'CANCELLED', count: 1 },
		{ priority: 'urgent', status: 'PENDING', count: 1 },
	]);
	expect((await stats('?by=serverId,scope')).body.data).toEqual([{ serverId, scope: 'TENANT', count: 7 }]);
	const { body } = await stats('?by=day,hour');
	const all = body.data.reduce((sum: number, one: { count: number }) => sum + one.count, 0);
	expect(all).toBe(7);
	for (const { day, hour } of body.data) expect(hour).toBe(`${day}T${hour.slice(11, 13)}:00:00.000Z`);
});

test('a range begins at `from` and ends before `to`, whatever the ids say', async () => {
	const id = (await api.call('/v1/messages?limit=1')).body.data[0].id;
	const at = new Date('2026-01-05T10:00:00.500Z');
	await api.db.pool.query('update send_record set created_at = $2 where id = $1', [id, at]);
	const made = (await api.db.pool.query('select created_at from send_record where id <> $1 and tenant_id = $2 limit 1', [id, api.tenantId]))
		.rows[0].created_at as Date;
	const next = new Date(made.getTime() + 1).toISOString();
	const count = async (from: string, to: string): Promise<number> =>
		(await stats(`?by=channel&from=${from}&to=${to}`)).body.data[0]?.count ?? 0;
	expect(await count(made.toISOString(), next)).toBe(6);
	expect(await count(new Date(made.getTime() - 60_000).toISOString(), made.toISOString())).toBe(0);
	expect(await count(next, new Date(made.getTime() + 60_000).toISOString())).toBe(0);
});

test('another tenant counts its own', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	expect((await api.call('/v1/stats', there)).body.data).toEqual([]);
	expect((await api.call('/v1/stats', { ...there, headers: { 'tidings-tenant': newId() } })).status).toBe(404);
});

test.each([
	'?by=',
	'?by=colour',
	'?by=channel,',
	'?by=channel,channel',
	'?by=channel&by=status',
	'?by=Channel',
	'?from=yesterday',
	'?to=2026-11-30',
	'?from=2026-11-30T00:00:00Z&to=2026-11-30T00:00:00Z',
	'?from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00.001Z',
	'?group=channel',
])('the query %s is refused', async (query) => {
	const { status, body } = await stats(query);
	expect([status, body.code]).toEqual([400, 'malformed-request']);
});

test('31 days may be asked for, and what has too many groups is refused', async () => {
	expect((await stats('?from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z')).body.data).toEqual([]);
	const insert = (from: number, to: number) =>
		api.db.pool.query(
			`insert into send_record (id, tenant_id, channel, type, scope, lane, route, trace_id, traceparent, created_at)
			select overlay(uuid_v7()::text placing '019b6000-' || lpad(to_hex(n), 4, '0') from 1)::uuid,
				$1, 'MAIL', 't' || n, 'TENANT', 'normal', 'mail-send', 'x', 'x', '2025-12-27T12:00:00Z' from generate_series($2::int, $3::int) n`,
			[api.tenantId, from, to],
		);
	await insert(1, 10_000);
	const range = 'from=2025-12-20T00:00:00Z&to=2026-01-10T00:00:00Z';
	expect((await stats(`?by=type&${range}`)).body.data).toHaveLength(10_000);
	await insert(10_001, 10_001);
	expect((await stats(`?by=type&${range}`)).body).toMatchObject({ status: 400, detail: expect.stringContaining('10000 groups') });
	expect((await stats(`?by=scope&${range}`)).body.data).toEqual([{ scope: 'TENANT', count: 10_001 }]);
});

test('counting leaves connections to others: two count at a time, some wait for their turn, and the rest is told to come again', async () => {
	const blocker = await api.db.pool.connect();
	await blocker.query('begin');
	await blocker.query('lock table send_record in access exclusive mode');
	const asked = Promise.all(Array.from({ length: 30 }, async () => await stats()));
	try {
		await eventually(async () => {
			const { rows } = await api.db.pool.query(
				`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%count(*)%'`,
			);
			return rows.length === 2;
		});
		expect((await api.call('/v1/api-keys')).status).toBe(200);
	} finally {
		await blocker.query('rollback');
		blocker.release();
	}
	const answers = await asked;
	const refused = answers.filter((one) => one.status !== 200);
	expect(refused.map((one) => one.body.code)).toEqual(Array(8).fill('overloaded'));
	expect(refused.map((one) => one.headers.get('retry-after'))).toEqual(Array(8).fill('5'));
	expect((await stats()).status).toBe(200);
});
