import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { newId, Problem } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { Type } from 'typebox';
import type { Credential } from './authenticate.js';
import { httpPart } from './http-part.js';
import { callerOf, operation } from './operation.js';
import { createHttpServer, faultsGiven } from './server.js';

const lines: string[] = [];
const metrics = createMetrics({ service: 'demo', version: '1', processMetrics: false });
const home = { id: newId(), kind: 'TENANT' as const, status: 'ACTIVE' as const, settings: {} };
const other = { id: newId(), kind: 'TENANT' as const, status: 'ACTIVE' as const, settings: {} };
const credential = (keyId: string, more: Partial<Credential> = {}): Credential => ({
	keyId,
	secretSha256: Buffer.from(`secret of ${keyId}`),
	tenant: home,
	capabilities: ['messages:send', 'messages:read'],
	expiresAt: null,
	revokedAt: null,
	...more,
});
const credentials = new Map(
	[
		credential('good'),
		credential('reader', { capabilities: ['messages:read'] }),
		credential('expired', { expiresAt: new Date(0) }),
		credential('revoked', { revokedAt: new Date(0) }),
		credential('platform', { capabilities: ['messages:send', 'platform'] }),
	].map((one) => [one.keyId, one]),
);
let lookups = 0;
let compared: (string | null)[] = [];

const Thing = Type.Object(
	{
		name: Type.String({ minLength: 1, maxLength: 5 }),
		to: Type.Optional(
			Type.Array(
				Type.Union([
					Type.String({ maxLength: 8 }),
					Type.Object({ address: Type.String(), label: Type.Optional(Type.String()) }, { additionalProperties: false }),
				]),
				{ maxItems: 3 },
			),
		),
		colour: Type.Optional(Type.Enum(['red', 'blue'])),
		size: Type.Optional(Type.Integer({ minimum: 1 })),
	},
	{ $id: 'Thing', additionalProperties: false },
);
const answer = Type.Object({ ok: Type.Boolean() });
const base = { tag: 'Things', summary: 'A thing', access: 'messages:send', answers: { 200: answer }, example: {} } as const;

const app = await createHttpServer({
	log: createLogger({ service: 'demo', level: 'debug', destination: { write: (line: string) => void lines.push(line) } }),
	metrics,
	info: { title: 'Demo', version: '1', description: 'A demo.', tags: [] },
	schemas: [Thing],
	bodyLimit: 2_000_000,
	isAway: (error) => error instanceof Error && error.message === 'away',
	credentials: {
		findCredential: async (keyId) => {
			lookups += 1;
			return credentials.get(keyId) ?? null;
		},
		findTenant: async (id) => (id === other.id ? other : null),
		parseKey: (key) => (key.startsWith('tdg_') ? { keyId: key.slice(4).split('.')[0] ?? '', secret: key.split('.')[1] ?? '' } : null),
		matchesSecret: (secret, stored) => {
			compared.push(stored === null ? null : Buffer.from(stored).toString());
			return stored !== null && secret === 'right';
		},
	},
	operations: [
		operation({
			...base,
			method: 'POST',
			path: '/v1/things',
			operationId: 'makeThing',
			body: Type.Ref('Thing'),
			handle: () => ({ ok: true, more: 'hidden' }),
		}),
		operation({
			...base,
			method: 'POST',
			path: '/v1/things:batch',
			operationId: 'makeThings',
			body: Type.Object({ items: Type.Array(Type.Ref('Thing')) }, { additionalProperties: false }),
			collectsFaults: true,
			submits: true,
			handle: (request) => {
				const faults = faultsGiven(request);
				if (faults.length > 0)
					throw new Problem('invalid-request', 'mine', {
						faults: [...faults, { pointer: '/own', code: 'duplicate', detail: 'Found here.' }],
					});
				return { ok: true, hash: request.bodySha256 };
			},
		}),
		operation({
			...base,
			method: 'GET',
			path: '/v1/things/{id}',
			operationId: 'getThing',
			query: Type.Object({ verbose: Type.Optional(Type.Enum(['true', 'false'])) }, { additionalProperties: false }),
			answers: { 200: Type.Object({ id: Type.String(), tenant: Type.String(), trace: Type.String() }) },
			handle: (request) => ({ id: request.params.id, tenant: callerOf(request).tenant.id, trace: request.trace.traceId }),
		}),
		operation({
			...base,
			method: 'POST',
			path: '/v1/things/{id}:break',
			operationId: 'breakThing',
			body: Type.Object({ how: Type.Optional(Type.String()) }, { additionalProperties: false }),
			bodyOptional: true,
			handle: (request) => {
				if (request.body?.how === undefined) return { ok: true };
				throw new Error(request.body.how);
			},
		}),
		operation({
			...base,
			method: 'POST',
			path: '/v1/hashes',
			operationId: 'hash',
			body: Type.Object({}),
			answers: { 200: Type.Object({ sha256: Type.Union([Type.String(), Type.Null()]) }) },
			handle: (request) => ({ sha256: request.bodySha256?.toString('hex') ?? null }),
		}),
	],
});
const part = httpPart(app, { port: 0, host: '127.0.0.1' });
await part.start();
afterAll(async () => await part.stop());
beforeEach(() => {
	lines.length = 0;
	compared = [];
});

type Given = {
	method?: 'GET' | 'POST' | 'PUT' | 'HEAD' | 'PROPFIND';
	key?: string | null;
	headers?: Record<string, string>;
	body?: unknown;
	raw?: string | Buffer;
};
async function call(url: string, given: Given = {}) {
	const key = given.key === undefined ? 'tdg_good.right' : given.key;
	const payload = given.raw ?? (given.body === undefined ? undefined : JSON.stringify(given.body));
	const response = await app.inject({
		method: (given.method as 'GET' | undefined) ?? (payload === undefined ? 'GET' : 'POST'),
		url,
		headers: {
			...(key === null ? {} : { authorization: `Bearer ${key}` }),
			...(payload === undefined ? {} : { 'content-type': 'application/json' }),
			...given.headers,
		},
		...(payload === undefined ? {} : { payload }),
	});
	return { status: response.statusCode, headers: response.headers, body: response.body === '' ? null : response.json() };
}
const pointers = (body: { errors: { pointer: string; code: string }[] }) => body.errors.map((one) => `${one.code} ${one.pointer}`);

test('a problem has every field, and an answer carries its trace and its headers', async () => {
	const traceId = 'ab'.repeat(16);
	const { status, headers, body } = await call(`/v1/nothing?secret=MARK`, {
		headers: { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` },
	});
	expect(status).toBe(404);
	expect(headers).toMatchObject({
		'content-type': 'application/problem+json',
		'x-content-type-options': 'nosniff',
		'cache-control': 'no-store',
		'tidings-trace-id': traceId,
	});
	expect(body).toEqual({
		type: 'https://tidings.dev/problems/not-found',
		title: 'There is no such thing',
		status: 404,
		detail: expect.stringContaining('no such path'),
		instance: '/v1/nothing',
		code: 'not-found',
		traceId,
		errors: [],
	});
});

test('an address in a path or in the name of a query field is not said again', async () => {
	const paths = ['/v1/zoemark@example.com', '/v1/things/zoemark%40example.com', `/v1/things/${newId()}?zoemark@example.com=1`];
	for (const path of paths) {
		const { status, body } = await call(path);
		expect(status).toBeGreaterThanOrEqual(400);
		expect(JSON.stringify(body)).not.toContain('zoemark');
	}
	expect((await call('/v1/a/zoemark@example.com/b')).body.instance).toBe('/v1/a/*/b');
});

test.each([
	['POST', '/v1/things/x', 'GET, HEAD'],
	['GET', '/v1/things:batch', 'POST'],
	['PUT', `/v1/things/${newId()}:break`, 'POST'],
	['PROPFIND', `/v1/things/${newId()}`, 'GET, HEAD'],
] as const)('%s %s is told what the path has', async (method, url, allow) => {
	const { status, headers, body } = await call(url, { method });
	expect([status, headers.allow, body.code]).toEqual([405, allow, 'method-not-allowed']);
});

test('a verb belongs to its path exactly, and an id that is none is not found', async () => {
	expect((await call('/v1/thingsXbatch', { method: 'POST' })).status).toBe(404);
	expect((await call(`/v1/things/${newId()}:broke`, { method: 'POST' })).status).toBe(404);
	expect((await call('/v1/things/12')).body.code).toBe('not-found');
	expect((await call(`/v1/things/${newId()}:break`, { method: 'POST' })).body).toEqual({ ok: true });
	expect((await call('/%zz')).body.code).toBe('malformed-request');
	const paths = ['/v1/things/a%3Ab', `/v1/things/${'1'.repeat(101)}`, `/v1/things/${'1'.repeat(10_000)}`];
	for (const path of paths) expect((await call(path)).body).toMatchObject({ status: 404, code: 'not-found' });
});

test('answers hold what the schema names and nothing else', async () => {
	expect((await call('/v1/things', { body: { name: 'a' } })).body).toEqual({ ok: true });
});

test.each<[string, Given, number, string]>([
	['no body', { method: 'POST' }, 400, 'malformed-request'],
	['an empty body', { raw: '', headers: { 'content-type': 'application/json' } }, 400, 'malformed-request'],
	['null', { raw: 'null' }, 400, 'malformed-request'],
	['half JSON', { raw: '{"name":' }, 400, 'malformed-request'],
	['broken UTF-8', { raw: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }, 400, 'malformed-request'],
	[
		'10,000 levels in a large body',
		{ raw: `{"name":"${'a'.repeat(70_000)}","to":${'['.repeat(10_000)}${']'.repeat(10_000)}}` },
		400,
		'malformed-request',
	],
	['too many values', { raw: `{"to":[${'1,'.repeat(600_000)}1]}` }, 413, 'body-too-large'],
	['10,000 levels', { raw: `{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}` }, 400, 'malformed-request'],
	['another type', { raw: 'name=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415, 'unsupported-media-type'],
	['text', { raw: '{"name":"a"}', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported-media-type'],
	['a content coding', { raw: '{"name":"a"}', headers: { 'content-encoding': 'gzip' } }, 415, 'unsupported-media-type'],
	[
		'another charset',
		{ raw: '{"name":"a"}', headers: { 'content-type': 'application/json; charset=utf-16' } },
		415,
		'unsupported-media-type',
	],
	['too much', { raw: `{"name":"${'a'.repeat(2_000_000)}"}` }, 413, 'body-too-large'],
	['a query field with a broken escape', { body: { name: 'a' } }, 400, 'malformed-request'],
	['a query field that is unknown', { body: { name: 'a' } }, 400, 'malformed-request'],
])('%s is refused', async (what, given, status, code) => {
	const isUnknown = what.endsWith('is unknown');
	const query = isUnknown ? '?nme=MARK' : what.endsWith('escape') ? '?nme=MARK%zz' : '';
	const { body, ...rest } = await call(`/v1/things${query}`, given);
	expect([rest.status, body.code]).toEqual([status, code]);
	if (isUnknown) expect(body.detail).toContain('`nme`');
	expect(JSON.stringify(body)).not.toContain('MARK');
});

test('a right charset is taken', async () => {
	expect((await call('/v1/things', { raw: '{"name":"a"}', headers: { 'content-type': 'application/json; charset="UTF-8"' } })).status).toBe(
		200,
	);
});

test('an operation may add its own faults to those of the schema', async () => {
	expect(pointers((await call('/v1/things:batch', { body: { items: [{ name: '' }] } })).body)).toEqual([
		'too-short /items/0/name',
		'duplicate /own',
	]);
	expect((await call('/v1/things:batch', { raw: '{' })).body.code).toBe('malformed-request');
	expect((await call('/v1/things:batch?x=1', { body: { items: [] } })).body.code).toBe('malformed-request');
	expect(await metrics.registry.metrics()).toContain('tidings_accept_refusals_total{reason="malformed-request"} 2');
});

test('the raw body is hashed only for an Idempotency-Key', async () => {
	const raw = '{ "a" : 1 }';
	expect((await call('/v1/hashes', { raw })).body).toEqual({ sha256: null });
	expect((await call('/v1/hashes', { raw, headers: { 'idempotency-key': 'k' } })).body).toEqual({
		sha256: createHash('sha256').update(raw).digest('hex'),
	});
});

test.each([
	[null, 401, 'credential-missing'],
	['tdg_good.wrong', 401, 'credential-refused'],
	['tdg_nobody.right', 401, 'credential-refused'],
	['eyJhbGciOiJub25lIn0.e30.', 401, 'credential-refused'],
	['tdg_expired.right', 401, 'credential-refused'],
	['tdg_revoked.right', 401, 'credential-refused'],
	['tdg_reader.right', 403, 'capability-missing'],
])('the key %j is answered %i %s, also with a body that cannot be read', async (key, status, code) => {
	const { headers, body, ...rest } = await call('/v1/things', { key, raw: '{' });
	expect([rest.status, body.code]).toEqual([status, code]);
	if (status === 401) expect(headers['www-authenticate']).toBe(code === 'credential-missing' ? 'Bearer' : 'Bearer error="invalid_token"');
	else expect(body.detail).toContain('`messages:send`');
});

test('an unknown key and a wrong secret take one look-up and one compare each, and a known key is looked up once', async () => {
	await call(`/v1/things/${newId()}`, { key: 'tdg_fresh.right' });
	expect(compared).toEqual([null]);
	const before = lookups;
	await Promise.all([call(`/v1/things/${newId()}`), call(`/v1/things/${newId()}`)]);
	expect(lookups).toBe(before);
	await call(`/v1/things/${newId()}`, { key: 'tdg_fresh.right' });
	expect(lookups).toBe(before + 1);
});

test('Tidings-Tenant is for platform credentials only, and no other header names a tenant', async () => {
	const get = async (key: string, headers: Record<string, string>) => await call(`/v1/things/${newId()}`, { key, headers });
	expect((await get('tdg_good.right', { 'x-tenant-id': other.id })).body.tenant).toBe(home.id);
	const refused = await get('tdg_good.right', { 'tidings-tenant': other.id });
	expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('`platform`')]);
	expect((await get('tdg_platform.right', { 'tidings-tenant': other.id.toUpperCase() })).body.tenant).toBe(other.id);
	expect((await get('tdg_platform.right', { 'tidings-tenant': newId() })).status).toBe(404);
	expect((await get('tdg_platform.right', { 'tidings-tenant': 'x' })).status).toBe(404);
});

test('an error tells the caller nothing of the driver, and the log everything', async () => {
	const failed = await call(`/v1/things/${newId()}:break`, { body: { how: 'relation "x" does not exist' } });
	expect([failed.status, failed.body.code]).toEqual([500, 'internal-error']);
	expect(JSON.stringify(failed.body)).not.toContain('relation');
	expect(lines.join('')).toContain('relation \\"x\\" does not exist');
	const away = await call(`/v1/things/${newId()}:break`, { body: { how: 'away' } });
	expect([away.status, away.body.code, away.headers['retry-after']]).toEqual([503, 'dependency-away', '2']);
});

test('a request is one log line with its route and trace, without path, query or body', async () => {
	await call(`/v1/things/${newId()}?verbose=true`);
	await call('/v1/things', { body: { name: 'MARK too long' } });
	const logged = lines.map((line) => JSON.parse(line));
	expect(logged).toMatchObject([
		{
			level: 'debug',
			method: 'GET',
			route: '/v1/things/{id}',
			status: 200,
			tenantId: home.id,
			traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
		},
		{ level: 'info', method: 'POST', route: '/v1/things', status: 422 },
	]);
	expect(lines.join('')).not.toMatch(/MARK|verbose/);
	expect(await metrics.registry.metrics()).toMatch(
		/tidings_http_request_duration_seconds_count\{method="GET",route="\/v1\/things\/\{id\}",status="200"\} \d/,
	);
});

test('the OpenAPI document names every operation with its errors and example, and needs no credential', async () => {
	const { status, body } = await call('/openapi.json', { key: null });
	expect([status, body.openapi]).toEqual([200, '3.1.0']);
	expect(Object.keys(body.paths).sort()).toEqual([
		'/openapi.json',
		'/v1/hashes',
		'/v1/things',
		'/v1/things/{id}',
		'/v1/things/{id}:break',
		'/v1/things:batch',
	]);
	const batch = body.paths['/v1/things:batch'].post;
	expect(batch).toMatchObject({ operationId: 'makeThings', summary: 'A thing', description: expect.stringContaining('`messages:send`') });
	expect(batch.requestBody).toMatchObject({
		required: true,
		content: { 'application/json': { example: {}, schema: { properties: { items: { items: { $ref: '#/components/schemas/Thing' } } } } } },
	});
	expect(Object.keys(batch.responses)).toEqual(['200', '400', '401', '403', '404', '409', '413', '415', '422', '429', '500', '503']);
	expect(batch.responses['422'].content['application/problem+json'].schema).toEqual({ $ref: '#/components/schemas/Problem' });
	expect(batch.parameters.map((one: { name: string }) => one.name)).toContain('Idempotency-Key');
	expect(body.paths['/v1/things/{id}:break'].post.requestBody.required).toBe(false);
	expect(body.paths['/openapi.json'].get.security).toEqual([]);
});

test('what is not HTTP is answered as a problem too', async () => {
	const socket = connect(Number(new URL(part.address()).port), '127.0.0.1');
	socket.write('HELLO\r\n\r\n');
	const reply = await text(socket);
	expect(reply).toMatch(/^HTTP\/1\.1 400 /);
	expect(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))).toMatchObject({ code: 'malformed-request', status: 400 });
});

test('a method that nobody knows is told which there are', async () => {
	const socket = connect(Number(new URL(part.address()).port), '127.0.0.1');
	socket.write('FOO /v1/things HTTP/1.1\r\nHost: a\r\n\r\n');
	const reply = await text(socket);
	expect(reply).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
	expect(reply).toMatch(/\r\nallow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n/);
	expect(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))).toMatchObject({ code: 'method-not-allowed', status: 405 });
});

test('a pointer shows at most 200 characters of the names in it', async () => {
	const { body } = await call('/v1/things', { body: { name: 'a', ['x'.repeat(100_000)]: 1 } });
	expect(body.errors).toMatchObject([{ code: 'unknown-field', pointer: `/${'x'.repeat(199)}…` }]);
});
