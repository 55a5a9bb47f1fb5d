import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CAPABILITIES, newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { bootstrap } from './bootstrap.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
});
afterAll(async () => await api.stop());

const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

test('bootstrap makes two tenants once, and fresh keys each time while older ones work on', async () => {
	const [one, two] = await Promise.all([bootstrap(api.db), bootstrap(api.db)]);
	expect([one?.tenantId, two?.tenantId]).toEqual([api.tenantId, api.tenantId]);
	expect(new Set([api.apiKey, one?.apiKey, two?.apiKey]).size).toBe(3);
	const { rows } = await api.db.pool.query('select kind, count(*)::int as n from tenant group by 1 order by 1');
	expect(rows).toEqual([
		{ kind: 'PLATFORM', n: 1 },
		{ kind: 'TENANT', n: 1 },
	]);
	for (const key of [api.apiKey, one?.apiKey, api.platformKey])
		expect((await api.call('/v1/messages', { key: key ?? null })).status).toBe(200);
	const stored = await api.db.pool.query('select k.*, t.kind from api_key k join tenant t on t.id = k.tenant_id');
	expect(
		stored.rows
			.filter((row) => row.kind === 'TENANT')
			.every((row) => row.capabilities.length === CAPABILITIES.length - 1 && !row.capabilities.includes('platform')),
	).toBe(true);
	expect(JSON.stringify(stored.rows)).not.toContain(api.apiKey.slice('tdg_'.length + 17));
});

test('tenants are made by the platform only, each name once', async () => {
	expect((await api.call('/v1/tenants', { body: { name: 'X' } })).body).toMatchObject({
		status: 403,
		detail: expect.stringContaining('`platform`'),
	});
	const made = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Shop' } });
	expect(made).toMatchObject({ status: 201, body: { id: expect.any(String), name: 'Shop', kind: 'TENANT', status: 'ACTIVE' } });
	expect((await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Shop' } })).body.code).toBe('name-taken');
	expect(named((await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'a\0', kind: 'PLATFORM' } })).body)).toEqual([
		'control-character /name',
		'unknown-field /kind',
	]);
});

test('a key that is made works, holds what it was given, and stops when it is revoked or expires', async () => {
	const made = await api.call('/v1/api-keys', {
		body: { name: 'shop', capabilities: ['messages:send', 'messages:read'], expiresAt: '2999-01-01T00:00:00Z' },
	});
	expect(made).toMatchObject({
		status: 201,
		body: { key: expect.stringMatching(/^tdg_/), capabilities: ['messages:send', 'messages:read'], expiresAt: '2999-01-01T00:00:00.000Z' },
	});
	expect((await api.call('/v1/messages', { key: made.body.key })).status).toBe(200);
	expect((await api.call('/v1/mail-servers', { key: made.body.key })).status).toBe(403);
	const soon = await api.call('/v1/api-keys', { body: { name: 'old', capabilities: ['messages:read'] } });
	await api.db.pool.query('update api_key set expires_at = now() where id = $1', [soon.body.id]);
	expect((await api.call('/v1/messages', { key: soon.body.key })).status).toBe(401);
	expect(api.log.join('')).not.toContain(made.body.key);
});

test('nobody can give what they do not hold, and platform is for the platform', async () => {
	const make = async (capabilities: string[], call: { key?: string; headers?: Record<string, string> } = {}) =>
		await api.call('/v1/api-keys', { ...call, body: { name: 'k', capabilities } });
	const { body: admin } = await make(['tenant:admin', 'messages:read']);
	expect((await make(['messages:send'], { key: admin.key })).body).toMatchObject({
		status: 403,
		detail: expect.stringContaining('`messages:send`'),
	});
	expect(named((await make(['platform'])).body)).toEqual(['platform-only /capabilities/0']);
	expect(named((await make(['platform'], { key: api.platformKey, headers: { 'tidings-tenant': api.tenantId } })).body)).toEqual([
		'platform-only /capabilities/0',
	]);
	expect((await make(['platform'], { key: api.platformKey })).status).toBe(201);
	expect(named((await make(['messages:read', 'messages:read', 'all'])).body)).toEqual([
		'duplicate /capabilities/1',
		'not-one-of /capabilities/2',
	]);
	expect(named((await make([])).body)).toEqual(['too-few /capabilities']);
	expect((await make(Array.from({ length: 60_000 }, (_, n) => `c${n}`))).status).toBe(422);
	expect(
		named(
			(await api.call('/v1/api-keys', { body: { name: 'k', capabilities: ['messages:read'], expiresAt: '2020-01-01T00:00:00Z' } })).body,
		),
	).toEqual(['in-the-past /expiresAt']);
});

test('a platform key acts for the tenant that it names, and for the platform when it names none', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Named' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	const server = { name: 'theirs', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'a@named.example' } };
	await api.call('/v1/mail-servers', { ...there, body: server });
	expect((await api.call('/v1/mail-servers', there)).body.data).toHaveLength(1);
	expect((await api.call('/v1/mail-servers', { key: api.platformKey })).body.data).toHaveLength(0);
	expect((await api.call('/v1/mail-servers', { key: api.platformKey, headers: { 'tidings-tenant': newId() } })).status).toBe(404);
	expect((await api.call('/v1/mail-servers', { headers: { 'tidings-tenant': tenant.id } })).body).toMatchObject({
		status: 403,
		code: 'capability-missing',
	});
});
