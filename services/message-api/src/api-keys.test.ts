import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CAPABILITIES, newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';

let api: TestApi;
let otherTenant: { key: string; headers: Record<string, string> };
beforeAll(async () => {
	api = await startApi();
	const { body } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	otherTenant = { key: api.platformKey, headers: { 'tidings-tenant': body.id } };
});
afterAll(async () => await api.stop());

const make = async (body: object = {}) =>
	(await api.call('/v1/api-keys', { body: { name: 'k', capabilities: ['messages:read'], ...body } })).body;
const act = async (id: string, verb: 'revoke' | 'rotate', call: Parameters<TestApi['call']>[1] = {}) =>
	await api.call(`/v1/api-keys/${id}:${verb}`, { method: 'POST', ...call });
const statusWith = async (key: string): Promise<number> => (await api.call('/v1/messages', { key })).status;
const deeds = async (id: string) =>
	(await api.db.pool.query('select action, actor, detail from audit_event where subject_id = $1 order by id', [id])).rows;
const expire = async (id: string) => await api.db.pool.query(`update api_key set expires_at = now() - interval '1 s' where id = $1`, [id]);

const SHOWN = ['id', 'keyId', 'name', 'capabilities', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'].sort();

test('a key that is made is shown with its secret once, and without it ever after', async () => {
	const made = await api.call('/v1/api-keys', { body: { name: 'shop', capabilities: ['messages:read'] } });
	expect(made).toMatchObject({ status: 201, body: { name: 'shop', expiresAt: null, revokedAt: null, lastUsedAt: null } });
	expect(made.headers.get('location')).toBe(`/v1/api-keys/${made.body.id}`);
	expect(Object.keys(made.body).sort()).toEqual([...SHOWN, 'key'].sort());
	const { key, ...rest } = made.body;
	const one = await api.call(`/v1/api-keys/${made.body.id}`);
	expect(one.body).toEqual(rest);
	const list = await api.call('/v1/api-keys');
	expect(list.body.data).toContainEqual(rest);
	const secret = key.slice(`tdg_${rest.keyId}_`.length);
	expect(JSON.stringify([one.body, list.body, await deeds(made.body.id)])).not.toContain(secret);
	expect(api.log.join('')).not.toContain(secret);
});

test('the list pages from the newest, and shows those that work, those that do not, or all', async () => {
	const works = await make({ name: 'works' });
	const revoked = await make({ name: 'revoked' });
	const expired = await make({ name: 'expired', expiresAt: '2999-01-01T00:00:00Z' });
	await act(revoked.id, 'revoke');
	await expire(expired.id);
	const names = async (query: string) => (await api.call(`/v1/api-keys${query}`)).body.data.map((one: { name: string }) => one.name);
	expect((await names(''))[0]).toBe('works');
	expect(await names('?active=true')).not.toEqual(expect.arrayContaining(['revoked']));
	expect((await names('?active=false')).slice(0, 2)).toEqual(['expired', 'revoked']);
	expect((await names('?active=false')).includes('works')).toBe(false);
	expect((await names('?active=all')).slice(0, 3)).toEqual(['expired', 'revoked', 'works']);
	const first = await api.call('/v1/api-keys?active=all&limit=2');
	const second = await api.call(`/v1/api-keys?active=all&limit=2&cursor=${first.body.nextCursor}`);
	expect([...first.body.data, ...second.body.data].slice(0, 3).map((one) => one.id)).toEqual([expired.id, revoked.id, works.id]);
	expect((await api.call('/v1/api-keys?active=maybe')).status).toBe(400);
});

test('a revoked key stops at once where it was revoked, and a second revocation is told when the first one was', async () => {
	const key = await make();
	expect(await statusWith(key.key)).toBe(200);
	const revoked = await act(key.id, 'revoke');
	expect(revoked).toMatchObject({ status: 200, body: { id: key.id, revokedAt: expect.any(String) } });
	expect(await statusWith(key.key)).toBe(401);
	const again = await act(key.id, 'revoke');
	expect(again).toMatchObject({ status: 409, body: { code: 'state-conflict', detail: expect.stringContaining(revoked.body.revokedAt) } });
	expect(await deeds(key.id)).toEqual([
		expect.objectContaining({ action: 'api-key.create' }),
		{ action: 'api-key.revoke', actor: expect.stringMatching(/^key:/), detail: { keyId: key.keyId, name: 'k' } },
	]);
});

test('two revocations at once are one', async () => {
	const key = await make();
	const answers = await Promise.all([act(key.id, 'revoke'), act(key.id, 'revoke'), act(key.id, 'revoke')]);
	expect(answers.map((one) => one.status).sort()).toEqual([200, 409, 409]);
	expect(await deeds(key.id)).toHaveLength(2);
});

test('a rotated key is followed by one with its name and capabilities, and works on for the grace', async () => {
	const old = await make({ name: 'shop', capabilities: ['messages:read', 'quota:read'] });
	const rotated = await act(old.id, 'rotate');
	expect(rotated).toMatchObject({
		status: 201,
		body: { name: 'shop', capabilities: ['messages:read', 'quota:read'], expiresAt: null, key: expect.stringMatching(/^tdg_/) },
	});
	expect(rotated.headers.get('location')).toBe(`/v1/api-keys/${rotated.body.id}`);
	expect(rotated.body.id).not.toBe(old.id);
	expect([await statusWith(old.key), await statusWith(rotated.body.key)]).toEqual([200, 200]);
	const { expiresAt } = (await api.call(`/v1/api-keys/${old.id}`)).body;
	expect(Math.abs(Date.parse(expiresAt) - Date.now() - 86_400_000)).toBeLessThan(60_000);
	expect(await deeds(old.id)).toContainEqual({
		action: 'api-key.rotate',
		actor: expect.stringMatching(/^key:/),
		detail: { keyId: old.keyId, name: 'shop', newKeyId: rotated.body.keyId, endsAt: expiresAt },
	});
	expect(await deeds(rotated.body.id)).toEqual([expect.objectContaining({ action: 'api-key.create' })]);
});

test('a grace of nothing revokes the old key at once, and no grace lets it live longer than it would have', async () => {
	const quick = await make();
	expect(await statusWith(quick.key)).toBe(200);
	expect((await act(quick.id, 'rotate', { body: { graceSeconds: 0, expiresAt: '2998-01-01T00:00:00Z' } })).body.expiresAt).toBe(
		'2998-01-01T00:00:00.000Z',
	);
	expect(await statusWith(quick.key)).toBe(401);
	expect((await api.call(`/v1/api-keys/${quick.id}`)).body.revokedAt).toEqual(expect.any(String));

	const soon = new Date(Date.now() + 3_600_000).toISOString();
	const short = await make({ expiresAt: soon });
	const next = await act(short.id, 'rotate', { body: { graceSeconds: 2_592_000 } });
	expect((await api.call(`/v1/api-keys/${short.id}`)).body.expiresAt).toBe(soon);
	// It was made for an hour, and so is the next.
	expect(Math.abs(Date.parse(next.body.expiresAt) - Date.now() - 3_600_000)).toBeLessThan(60_000);
});

test('a key that works no more cannot be rotated, and no new one is made', async () => {
	const revoked = await make();
	await act(revoked.id, 'revoke');
	const expired = await make();
	await expire(expired.id);
	const count = async () => (await api.db.pool.query('select count(*)::int as n from api_key')).rows[0].n;
	const before = await count();
	for (const key of [revoked, expired]) expect((await act(key.id, 'rotate')).body).toMatchObject({ status: 409, code: 'state-conflict' });
	expect(await count()).toBe(before);
});

test('a key is rotated once: of two operators at once one is told which key took its place, and no second one is made', async () => {
	const old = await make();
	const answers = await Promise.all([60, 60].map((graceSeconds) => act(old.id, 'rotate', { body: { graceSeconds } })));
	expect(answers.map((one) => one.status).sort()).toEqual([201, 409]);
	const made = answers.find((one) => one.status === 201);
	const refused = answers.find((one) => one.status === 409);
	expect(refused?.body).toMatchObject({ code: 'state-conflict', detail: expect.stringContaining(made?.body.id) });
	expect(made?.body.expiresAt).toBeNull();
	expect(await deeds(old.id)).toHaveLength(2);
	expect((await act(made?.body.id, 'rotate')).status).toBe(201);
	expect((await act(old.id, 'revoke')).status).toBe(200);
});

test('nobody gets what they do not hold by rotating a key that holds it', async () => {
	const strong = await make({ capabilities: ['messages:send', 'content:read', 'messages:read'] });
	const admin = await make({ capabilities: ['tenant:admin', 'messages:read'] });
	const refused = await act(strong.id, 'rotate', { key: admin.key });
	expect(refused.body).toMatchObject({ status: 403, code: 'capability-missing' });
	expect(refused.body.detail).toContain('`messages:send`, `content:read`');
	expect((await act(admin.id, 'rotate', { key: admin.key })).status).toBe(201);
});

test('a faulty rotation is refused with every fault at once', async () => {
	const key = await make();
	const faulty = await act(key.id, 'rotate', { body: { graceSeconds: 2_592_001, expiresAt: '2020-01-01T00:00:00Z', name: 'x' } });
	expect(faulty.status).toBe(422);
	expect(faulty.body.errors.map((one: { code: string; pointer: string }) => `${one.code} ${one.pointer}`).sort()).toEqual([
		'in-the-past /expiresAt',
		'out-of-range /graceSeconds',
		'unknown-field /name',
	]);
	expect((await act(key.id, 'rotate', { body: { graceSeconds: -1 } })).status).toBe(422);
	expect((await act(key.id, 'rotate', { body: [] })).status).toBe(422);
});

test('a key of another tenant is not there, for reading and for every act; nor is what is no id', async () => {
	const key = await make();
	for (const call of [otherTenant, { key: api.platformKey }]) {
		expect((await api.call(`/v1/api-keys/${key.id}`, call)).status).toBe(404);
		expect((await act(key.id, 'revoke', call)).status).toBe(404);
		expect((await act(key.id, 'rotate', call)).status).toBe(404);
		expect((await api.call('/v1/api-keys?active=all', call)).body.data.map((one: { id: string }) => one.id)).not.toContain(key.id);
	}
	expect(await statusWith(key.key)).toBe(200);
	expect((await act(newId(), 'revoke')).status).toBe(404);
	expect((await act('x', 'revoke')).status).toBe(404);
});

test('each operation needs tenant:admin', async () => {
	const key = await make({ capabilities: CAPABILITIES.filter((one) => !['tenant:admin', 'platform'].includes(one)) });
	const with403 = [
		await api.call('/v1/api-keys', { key: key.key }),
		await api.call(`/v1/api-keys/${key.id}`, { key: key.key }),
		await act(key.id, 'revoke', { key: key.key }),
		await act(key.id, 'rotate', { key: key.key }),
	];
	for (const { body } of with403) expect(body).toMatchObject({ status: 403, detail: expect.stringContaining('`tenant:admin`') });
});

test('unknown, wrong, cut-off and mangled keys are all answered the same 401', async () => {
	const { key } = await make();
	const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
	for (const text of [`tdg_0000000000000000_${key.slice(21)}`, wrong, key.slice(0, -5), `${key}x`, 'tdg_', 'x', 'e30.e30.']) {
		const { status, body, headers } = await api.call('/v1/messages', { key: text });
		expect([text, status, body.code]).toEqual([text, 401, 'credential-refused']);
		expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
	}
	expect((await api.call('/v1/messages', { key: null })).headers.get('www-authenticate')).toBe('Bearer');
});

test('when a key was used last is written at the stop at the latest, and only moves forward', async () => {
	const used = await make();
	const idle = await make();
	const lastUse = async (id: string) => (await api.call(`/v1/api-keys/${id}`)).body.lastUsedAt;
	const twin = await startApi({ databaseUrl: api.databaseUrl, keys: { ...api, apiKey: used.key } });
	const began = Date.now();
	expect((await twin.call('/v1/messages')).status).toBe(200);
	expect((await twin.call('/v1/messages', { key: idle.key.replace(/.$/, '!') })).status).toBe(401);
	await twin.stop();
	const seen = await eventually(() => lastUse(used.id));
	expect(Date.parse(seen)).toBeGreaterThanOrEqual(began);
	expect(await lastUse(idle.id)).toBeNull();
	await api.db.pool.query(`update api_key set last_used_at = '2999-01-01' where id = $1`, [used.id]);
	const late = await startApi({ databaseUrl: api.databaseUrl, keys: { ...api, apiKey: used.key } });
	await late.call('/v1/messages');
	await late.stop();
	expect(await lastUse(used.id)).toBe('2999-01-01T00:00:00.000Z');
});
