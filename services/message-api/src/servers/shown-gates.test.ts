import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CAPABILITIES, newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../../test/harness/api.js';

let api: TestApi;
/** A key that may do everything but read contents and be the platform. */
let blind: string;
beforeAll(async () => {
	api = await startApi();
	const capabilities = CAPABILITIES.filter((one) => one !== 'platform' && one !== 'content:read');
	blind = (await api.call('/v1/api-keys', { body: { name: 'blind', capabilities } })).body.key;
});
afterAll(async () => await api.stop());

const SERVER = { host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' }, default: false };
const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' };
type Call = NonNullable<Parameters<TestApi['call']>[1]>;
const newServer = async (change: object = {}, call: Call = {}) =>
	await api.call('/v1/mail-servers', { ...call, body: { ...SERVER, name: newId(), ...change } });
const state = async (id: string, call: Call = {}) => (await api.call(`/v1/mail-servers/${id}/state`, call)).body;
const set = (id: string, columns: string): Promise<unknown> => api.db.pool.query(`update gate set ${columns} where id = $1`, [id]);
const send = async (serverId: string): Promise<string> => (await api.call('/v1/mails', { body: { ...MAIL, serverId } })).body.id;
const refusedFor = (recordId: string): string =>
	`last_error = '${JSON.stringify({ at: '2026-12-01T00:00:00.000Z', recordId, category: 'AUTH', stage: 'AUTH', code: '535', enhancedCode: null, text: 'no' })}'`;

test('a mail server shows its gate wherever it is answered, and its ETag is not touched by it', async () => {
	const made = await newServer();
	const { id } = made.body;
	expect(made.body.gate).toEqual({
		state: 'OPEN',
		reason: null,
		detail: null,
		closedUntil: null,
		probeAt: null,
		since: expect.any(String),
	});
	await api.call(`/v1/mail-servers/${id}:pause`, { body: { note: 'moves house' } });
	const closed = { state: 'CLOSED', reason: 'PAUSED', detail: 'moves house' };
	const one = await api.call(`/v1/mail-servers/${id}`);
	expect([one.body.gate, one.headers.get('etag')]).toEqual([expect.objectContaining(closed), made.headers.get('etag')]);
	const listed = (await api.call('/v1/mail-servers')).body.data.find((each: { id: string }) => each.id === id);
	expect(listed.gate).toEqual(one.body.gate);
	const etag = made.headers.get('etag') ?? '';
	const changed = await api.call(`/v1/mail-servers/${id}`, { method: 'PATCH', headers: { 'if-match': etag }, body: { port: 26 } });
	expect([changed.status, changed.body.gate]).toEqual([200, expect.objectContaining(closed)]);
});

test('since tells when a gate opened by itself, not when it was closed', async () => {
	const { id } = (await newServer()).body;
	await set(id, `closed_until = '2026-01-01T00:01:00Z', changed_at = '2026-01-01T00:00:30Z', reason = 'RATE'`);
	expect((await state(id)).gate).toMatchObject({ state: 'OPEN', since: '2026-01-01T00:01:00.000Z' });
});

test('a message behind a gate whose time is over waits for the one that tries it, and no longer for a time that is past', async () => {
	const { id } = (await newServer()).body;
	const message = await send(id);
	await set(
		id,
		`closed_until = now() - interval '1 second', reason = 'QUOTA', detail = '452 enough', half_open = true, trial_until = now() + interval '1 minute'`,
	);
	expect((await api.call(`/v1/messages/${message}`)).body.waitsFor).toEqual({
		what: 'SERVER',
		reason: 'HALF_OPEN',
		detail: null,
		until: null,
	});
});

test('a server names the message that was refused last to its own tenant', async () => {
	const { id } = (await newServer()).body;
	const message = await send(id);
	await set(id, refusedFor(message));
	expect((await state(id)).lastError).toMatchObject({ messageId: message, code: '535' });
});

test("a platform's server names no message of another tenant", async () => {
	const { id } = (await newServer({ scope: 'PLATFORM' }, { key: api.platformKey })).body;
	const { id: own } = (await newServer()).body;
	const message = await send(own);
	await set(id, refusedFor(message));
	expect((await state(id, { key: api.platformKey })).lastError).toMatchObject({ messageId: null, code: '535' });
	const asTenant = { key: api.platformKey, headers: { 'tidings-tenant': api.tenantId } };
	expect((await state(id, asTenant)).lastError).toMatchObject({ messageId: message });
});

test("a message that waits for a platform's server says why, but not in words that may be about another tenant", async () => {
	const platform = (await newServer({ scope: 'PLATFORM', default: true }, { key: api.platformKey })).body;
	const tenant = (await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId() } })).body.id;
	const asTenant = { key: api.platformKey, headers: { 'tidings-tenant': tenant } };
	const message = (await api.call('/v1/mails', { ...asTenant, body: { ...MAIL, from: undefined } })).body;
	await set(platform.id, `closed_until = 'infinity', reason = 'AUTH', detail = '535 relay-user: no', failures = 1`);
	expect((await api.call(`/v1/messages/${message.id}`, asTenant)).body.waitsFor).toEqual({
		what: 'SERVER',
		reason: 'AUTH',
		detail: null,
		until: null,
	});
});

test('addresses in the note of a pause are masked for who may not read contents', async () => {
	const { id } = (await newServer()).body;
	const message = await send(id);
	const note = 'zebra@crossing.example asked for it';
	const seen = 'z•••@crossing.example asked for it';
	const paused = await api.call(`/v1/mail-servers/${id}:pause`, { key: blind, body: { note } });
	expect(paused.body.gate.detail).toBe(seen);
	for (const [path, of] of [
		[`/v1/mail-servers/${id}`, 'gate'],
		[`/v1/mail-servers/${id}/state`, 'gate'],
		[`/v1/messages/${message}`, 'waitsFor'],
	] as const) {
		expect([path, (await api.call(path)).body[of].detail]).toEqual([path, note]);
		expect([path, (await api.call(path, { key: blind })).body[of].detail]).toEqual([path, seen]);
	}
});
