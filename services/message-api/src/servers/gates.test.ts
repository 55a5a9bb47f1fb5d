import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMemoryWindows } from '@tidings/limits';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../../test/harness/api.js';
import { redisOfRun } from '../../../../test/harness/redis.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi({ callers: { redisUrl: redisOfRun() } });
});
afterAll(async () => await api.stop());

const SERVER = { host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' }, default: false };
const newServer = async (change: object = {}): Promise<string> =>
	(await api.call('/v1/mail-servers', { body: { ...SERVER, name: newId(), ...change } })).body.id;
const state = async (id: string) => (await api.call(`/v1/mail-servers/${id}/state`)).body;
const act = async (id: string, verb: string, body: object = {}) =>
	await api.call(`/v1/mail-servers/${id}:${verb}`, { method: 'POST', body });
const send = async (serverId: string): Promise<string> =>
	(await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', serverId } })).body.id;
const close = (id: string, set: string): Promise<unknown> => api.db.pool.query(`update gate set ${set} where id = $1`, [id]);
const auditsOf = async (id: string): Promise<string[]> =>
	(await api.call(`/v1/audit-events?subjectId=${id}`)).body.data.map((one: { action: string }) => one.action).reverse();

const CLOSED = `closed_until = 'infinity', reason = 'AUTH', detail = '535 5.7.8 no', failures = 2, probe_at = now() + interval '1 minute'`;

test('a new server is open, without limits, and nothing waits', async () => {
	const id = await newServer();
	expect(await state(id)).toEqual({
		gate: { state: 'OPEN', reason: null, detail: null, closedUntil: null, probeAt: null, since: expect.any(String) },
		windows: [],
		waiting: 0,
		lastError: null,
	});
});

test('a closed gate says why, when it is probed, what waits and what the provider said; a message says what it waits for', async () => {
	const id = await newServer();
	const error = {
		at: '2026-12-01T00:00:00.000Z',
		recordId: null,
		category: 'AUTH',
		stage: 'AUTH',
		code: '535',
		enhancedCode: '5.7.8',
		text: 'no',
	};
	const message = await send(id);
	await close(id, `${CLOSED}, last_error = '${JSON.stringify(error)}'`);
	const { recordId: _, ...shown } = error;
	expect(await state(id)).toMatchObject({
		gate: { state: 'CLOSED', reason: 'AUTH', detail: '535 5.7.8 no', closedUntil: null, probeAt: expect.any(String) },
		waiting: 1,
		lastError: { ...shown, messageId: null },
	});
	const { body } = await api.call(`/v1/messages/${message}`);
	expect(body.waitsFor).toEqual({ what: 'SERVER', reason: 'AUTH', detail: '535 5.7.8 no', until: null });
	expect((await api.call(`/v1/messages?limit=1`)).body.data[0].waitsFor).toEqual(body.waitsFor);
});

test('a full window says until when', async () => {
	const id = await newServer();
	const message = await send(id);
	await close(id, `closed_until = now() + interval '30 seconds', reason = 'RATE', detail = 'full'`);
	const { gate } = await state(id);
	expect(gate).toMatchObject({ state: 'CLOSED', reason: 'RATE', closedUntil: expect.any(String) });
	expect((await api.call(`/v1/messages/${message}`)).body.waitsFor).toMatchObject({ reason: 'RATE', until: gate.closedUntil });
	await close(id, `closed_until = now() - interval '1 second'`);
	expect((await state(id)).gate).toMatchObject({ state: 'OPEN', reason: null, detail: null });
	expect((await api.call(`/v1/messages/${message}`)).body.waitsFor).toBeNull();
});

test('what is left of the limits is read from where it is counted', async () => {
	const id = await newServer({ ratePerMinute: 60, dailyLimit: 1_000 });
	expect((await state(id)).windows).toEqual([
		{ window: 'minute', limit: 60, used: 0, left: 60, resetsAt: expect.any(String) },
		{ window: 'day', limit: 1_000, used: 0, left: 1_000, resetsAt: expect.any(String) },
	]);
	const { body } = await api.call(`/v1/mail-servers/${id}`, {
		method: 'PATCH',
		headers: { 'if-match': '*' },
		body: { ratePerMinute: 0, dailyLimit: null },
	});
	expect([body.ratePerMinute, body.dailyLimit, (await state(id)).windows]).toEqual([null, null, []]);
});

test('an API without Redis, and one whose Redis is away, know the rest', async () => {
	const id = await newServer({ ratePerMinute: 60 });
	for (const redisUrl of [null, 'redis://127.0.0.1:1']) {
		const other = await startApi({ databaseUrl: api.databaseUrl, keys: api, callers: { redisUrl } });
		expect((await other.call(`/v1/mail-servers/${id}/state`)).body).toMatchObject({ windows: null, gate: { state: 'OPEN' } });
		await other.stop();
	}
	expect(
		await createMemoryWindows().read({ channel: 'MAIL', tenantId: api.tenantId, configId: id, perMinute: 60, perDay: null }),
	).toHaveLength(1);
});

test('pause and resume: what waits says so, done twice it acts once, and each is audited with its note', async () => {
	const id = await newServer();
	const message = await send(id);
	expect((await act(id, 'pause', { note: 'moves house' })).body.gate).toMatchObject({
		state: 'CLOSED',
		reason: 'PAUSED',
		detail: 'moves house',
		closedUntil: null,
	});
	expect((await act(id, 'pause', { note: 'again' })).body.gate.detail).toBe('moves house');
	expect((await api.call(`/v1/messages/${message}`)).body.waitsFor).toMatchObject({
		what: 'SERVER',
		reason: 'PAUSED',
		detail: 'moves house',
	});
	await api.db.pool.query(`update flow set next_at = 'infinity' where gate = $1`, [id]);
	expect((await act(id, 'resume')).body.gate).toMatchObject({ state: 'OPEN', reason: null });
	expect((await act(id, 'resume')).status).toBe(200);
	expect(await auditsOf(id)).toEqual(['mail-server.create', 'mail-server.pause', 'mail-server.resume']);
	expect((await api.db.pool.query('select next_at <= now() as due from flow where gate = $1', [id])).rows).toEqual([{ due: true }]);
});

test('a gate that failures had closed is opened half, by a person and by a change; a full window and a pause before any failure wide', async () => {
	const id = await newServer();
	await close(id, CLOSED);
	expect((await act(id, 'resume')).body.gate).toMatchObject({ state: 'HALF_OPEN', probeAt: null });
	await close(id, CLOSED);
	await api.call(`/v1/mail-servers/${id}`, { method: 'PATCH', headers: { 'if-match': '*' }, body: { port: 26 } });
	expect((await state(id)).gate).toMatchObject({ state: 'HALF_OPEN', reason: null });
	const other = await newServer();
	await close(other, `closed_until = now() + interval '1 hour', reason = 'RATE'`);
	expect((await act(other, 'resume')).body.gate.state).toBe('OPEN');
});

test('what is open half stays so until a message has shown something: through a second change, and a pause', async () => {
	const id = await newServer();
	await close(id, CLOSED);
	const change = async (port: number) =>
		await api.call(`/v1/mail-servers/${id}`, { method: 'PATCH', headers: { 'if-match': '*' }, body: { port } });
	await change(26);
	await change(27);
	expect((await state(id)).gate.state).toBe('HALF_OPEN');
	await act(id, 'pause');
	expect((await act(id, 'resume')).body.gate.state).toBe('HALF_OPEN');
});

test('a server whose gate is missing can be paused, and resumed', async () => {
	const id = await newServer();
	await api.db.pool.query('delete from gate where id = $1', [id]);
	expect((await act(id, 'pause')).body.gate.state).toBe('CLOSED');
	expect((await act(id, 'resume')).body.gate.state).toBe('OPEN');
});

test('a test tries what a failure has closed, and waits where a person has paused', async () => {
	const id = await newServer();
	const asked = async (): Promise<string> => {
		expect((await act(id, 'test')).status).toBe(202);
		return (await state(id)).gate.state;
	};
	expect(await asked()).toBe('OPEN');
	await close(id, CLOSED);
	expect(await asked()).toBe('HALF_OPEN');
	await act(id, 'pause');
	expect(await asked()).toBe('CLOSED');
});

test('a change of a paused server leaves it paused', async () => {
	const id = await newServer();
	await act(id, 'pause');
	await api.call(`/v1/mail-servers/${id}`, { method: 'PATCH', headers: { 'if-match': '*' }, body: { port: 26 } });
	expect((await state(id)).gate.reason).toBe('PAUSED');
});

test('the platform pauses and resumes a route for all; a tenant can do neither', async () => {
	const id = await newServer();
	const message = await send(id);
	const platform = { method: 'POST', key: api.platformKey };
	expect((await api.call('/v1/routes/mail-send:pause', { method: 'POST' })).status).toBe(403);
	const paused = await api.call('/v1/routes/mail-send:pause', { ...platform, body: { note: 'wrong mailing' } });
	expect(paused.body).toMatchObject({ route: 'mail-send', gate: { state: 'CLOSED', reason: 'PAUSED', detail: 'wrong mailing' } });
	expect((await api.call('/v1/routes/mail-send:pause', platform)).body.gate.detail).toBe('wrong mailing');
	expect((await api.call(`/v1/messages/${message}`)).body.waitsFor).toEqual({
		what: 'ROUTE',
		reason: 'PAUSED',
		detail: null,
		until: null,
	});
	await api.db.pool.query(`update flow set next_at = 'infinity' where gate = $1`, [id]);
	expect((await api.call('/v1/routes/mail-send:resume', platform)).body.gate.state).toBe('OPEN');
	expect((await api.call('/v1/routes', { key: api.platformKey })).body.data).toMatchObject([
		{ route: 'mail-send', gate: { state: 'OPEN' } },
	]);
	expect((await api.db.pool.query('select next_at <= now() as due from flow where gate = $1', [id])).rows).toEqual([{ due: true }]);
	expect((await api.call('/v1/routes/sms-send:pause', platform)).status).toBe(404);
});

test('a bad body is refused with its faults, and nothing is paused', async () => {
	const id = await newServer();
	const { status, body } = await act(id, 'pause', { note: 5, why: 'x' });
	expect([status, body.errors.map((one: { pointer: string }) => one.pointer).sort()]).toEqual([422, ['/note', '/why']]);
	expect((await state(id)).gate.state).toBe('OPEN');
});

test("another tenant's server has no state that one could see or move", async () => {
	const id = await newServer();
	const other = await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId() } });
	const headers = { 'tidings-tenant': other.body.id };
	const { body: key } = await api.call('/v1/api-keys', {
		key: api.platformKey,
		headers,
		body: { name: 'k', capabilities: ['providers:write'] },
	});
	for (const [method, path] of [
		['GET', `/v1/mail-servers/${id}/state`],
		['POST', `/v1/mail-servers/${id}:pause`],
		['POST', `/v1/mail-servers/${id}:resume`],
	] as const)
		expect((await api.call(path, { method, key: key.key })).status).toBe(404);
});

test('a suspended tenant is what its messages wait for', async () => {
	const tenant = (await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId() } })).body.id;
	const asTenant = { key: api.platformKey, headers: { 'tidings-tenant': tenant } };
	await api.call('/v1/mail-servers', { ...asTenant, body: { ...SERVER, name: 'main', default: true } });
	const message = (await api.call('/v1/mails', { ...asTenant, body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' } })).body.id;
	await api.call(`/v1/tenants/${tenant}:suspend`, { method: 'POST', key: api.platformKey });
	expect((await api.call(`/v1/messages/${message}`, asTenant)).body.waitsFor).toEqual({
		what: 'TENANT',
		reason: 'SUSPENDED',
		detail: null,
		until: null,
	});
});
