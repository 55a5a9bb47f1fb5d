import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';
import { bareToken, sharedToken, startIssuer, type TokenIssuer } from '../../../test/harness/token-issuer.js';

const SECRET = 'a secret that is shared, of 32 bytes or more';
let plain: TestApi;
let issuer: TokenIssuer;
/** Takes tokens by the issuer's keys. */
let api: TestApi;
/** Takes tokens by a shared secret. */
let shared: TestApi;
beforeAll(async () => {
	plain = await startApi();
	issuer = await startIssuer({ sub: 'ann@example.com', tenant_id: plain.tenantId, scope: 'messages:read tenant:admin platform' });
	const pinned = { issuer: issuer.issuer, audience: issuer.audience, tenantClaim: 'tenant_id' };
	const start = async (jwt: NonNullable<NonNullable<Parameters<typeof startApi>[0]>['callers']>['jwt']) =>
		await startApi({ databaseUrl: plain.databaseUrl, keys: plain, callers: { jwt: jwt ?? null } });
	api = await start({ ...pinned, algorithms: ['RS256', 'ES256'], keys: { kind: 'jwks', url: issuer.jwksUrl, cooldownMs: 0 } });
	shared = await start({ ...pinned, algorithms: ['HS256'], keys: { kind: 'secret', secret: SECRET } });
});
afterEach(() => issuer.behave('well'));
afterAll(async () => {
	await shared.stop();
	await api.stop();
	await plain.stop();
	await issuer.stop();
});

const platformId = async (): Promise<string> => (await plain.db.pool.query(`select id from tenant where kind = 'PLATFORM'`)).rows[0].id;
const past = Math.floor(Date.now() / 1_000) - 3_600;

test('a token lets its user do what its scope says, in its tenant, and the audit names the user', async () => {
	const key = issuer.token();
	const made = await api.call('/v1/api-keys', { key, body: { name: 'by a token', capabilities: ['messages:read'] } });
	expect(made.status).toBe(201);
	const { rows } = await api.db.pool.query('select tenant_id, actor from audit_event where subject_id = $1', [made.body.id]);
	expect(rows).toEqual([{ tenant_id: api.tenantId, actor: 'user:ann@example.com' }]);
	expect((await api.call('/v1/mail-servers', { key })).body).toMatchObject({
		status: 403,
		code: 'capability-missing',
		detail: expect.stringContaining('`providers:write`'),
	});
	expect((await api.call('/v1/messages', { key: api.apiKey })).status).toBe(200);
});

test('a shared secret works as well, and without settings no token is taken', async () => {
	const key = sharedToken(SECRET, { sub: 'bo', tenant_id: shared.tenantId, scope: 'messages:read' });
	expect((await shared.call('/v1/messages', { key })).status).toBe(200);
	expect((await api.call('/v1/messages', { key })).status).toBe(401);
	expect((await plain.call('/v1/messages', { key })).body).toMatchObject({ status: 401, code: 'credential-refused' });
});

test('platform counts only in a token of the platform itself', async () => {
	const there = { 'tidings-tenant': api.tenantId };
	expect((await api.call('/v1/messages', { key: issuer.token(), headers: there })).body).toMatchObject({
		status: 403,
		detail: expect.stringContaining('`platform`'),
	});
	const operator = issuer.token({ claims: { tenant_id: await platformId() } });
	expect((await api.call('/v1/messages', { key: operator, headers: there })).status).toBe(200);
	const made = await api.call('/v1/api-keys', {
		key: operator,
		headers: there,
		body: { name: 'by the operator', capabilities: ['messages:read'] },
	});
	const { rows } = await api.db.pool.query('select actor from audit_event where subject_id = $1', [made.body.id]);
	expect(rows).toEqual([{ actor: 'platform:user:ann@example.com' }]);
});

test.each<[string, () => string, RegExp]>([
	['expired', () => issuer.token({ claims: { exp: past } }), /expired/],
	['not valid yet', () => issuer.token({ claims: { nbf: past + 7_200 } }), /not valid yet/],
	['unsigned', () => bareToken({ sub: 'ann', tenant_id: plain.tenantId, scope: 'messages:read' }), /`alg`/],
	['meant for another audience', () => issuer.token({ claims: { aud: 'other' } }), /audience/],
	['from another issuer', () => issuer.token({ claims: { iss: 'https://other.example' } }), /issuer/],
	['signed by a key that is not shown', () => issuer.token({ header: { kid: 'unknown' } }), /`kid`/],
	['of a tenant that does not exist', () => issuer.token({ claims: { tenant_id: newId() } }), /no tenant/],
])('a token that is %s is answered 401, and why, without a word of it', async (_what, make, why) => {
	const token = make();
	const { status, body, headers } = await api.call('/v1/messages', { key: token });
	expect([status, body.code]).toEqual([401, 'credential-refused']);
	expect(body.detail).toMatch(why);
	expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
	for (const part of token.split('.').filter(Boolean)) expect(JSON.stringify(body)).not.toContain(part);
});

test('a token of a tenant that was deleted is refused', async () => {
	const id = newId();
	await api.db.pool.query(`insert into tenant (id, name, status) values ($1, 'Gone', 'DELETED')`, [id]);
	expect((await api.call('/v1/messages', { key: issuer.token({ claims: { tenant_id: id } }) })).status).toBe(401);
});

test('the issuer may turn to a new key at any time', async () => {
	expect((await api.call('/v1/messages', { key: issuer.token() })).status).toBe(200);
	const old = issuer.token();
	issuer.rotate('ES256');
	expect((await api.call('/v1/messages', { key: issuer.token() })).status).toBe(200);
	expect((await api.call('/v1/messages', { key: old })).status).toBe(401);
});

test('while the keys cannot be fetched, a new key is answered 503 with Retry-After, and known keys and API keys work on', async () => {
	const known = issuer.token();
	expect((await api.call('/v1/messages', { key: known })).status).toBe(200);
	issuer.rotate();
	issuer.behave('rubbish');
	const { status, body, headers } = await api.call('/v1/messages', { key: issuer.token() });
	expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'dependency-away', '2']);
	expect((await api.call('/v1/messages', { key: known })).status).toBe(200);
	expect((await api.call('/v1/messages')).status).toBe(200);
	issuer.behave('well');
	await eventually(async () => (await api.call('/v1/messages', { key: issuer.token() })).status === 200);
});

test('no token, no part of one and no user of one stands in a log line', async () => {
	const token = issuer.token({ claims: { sub: 'marker-of-a-user' } });
	await api.call('/v1/messages', { key: token });
	await api.call('/v1/messages', { key: `${token}x` });
	await api.call('/v1/messages', { key: issuer.token({ claims: { sub: 'marker-of-a-user', exp: past } }) });
	issuer.behave('error');
	await api.call('/v1/messages', { key: issuer.token({ header: { kid: 'new' }, claims: { sub: 'marker-of-a-user' } }) });
	const log = api.log.join('');
	expect(log).toContain('dependency');
	for (const part of [...token.split('.'), 'marker-of-a-user', SECRET]) expect(log).not.toContain(part);
});

test('the document of the API has both kinds of credentials', async () => {
	const { body } = await api.call('/openapi.json', { key: null });
	expect(body.components.securitySchemes).toMatchObject({ apiKey: { scheme: 'bearer' }, jwt: { scheme: 'bearer', bearerFormat: 'JWT' } });
	expect(body.security).toEqual([{ apiKey: [] }, { jwt: [] }]);
});
