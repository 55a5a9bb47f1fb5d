import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countRows, startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
beforeAll(async () => {
	api = await startApi();
	await api.call('/v1/mail-servers', { body: server });
});
afterAll(async () => await api.stop());

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi Ann' };
const withKey = (key: string): { headers: Record<string, string> } => ({ headers: { 'idempotency-key': key } });
const records = async (): Promise<number> => (await countRows(api.db))['send_record'] ?? 0;

test('forty twins over HTTP make one record; a repeat is answered the same, also after a restart', async () => {
	const before = await records();
	const answers = await Promise.all(Array.from({ length: 40 }, () => api.call('/v1/mails', { ...withKey('twins'), body: MAIL })));
	expect([...new Set(answers.map((one) => one.status))].sort()).toEqual([202, 409]);
	const first = answers.find((one) => one.status === 202);
	expect(answers.find((one) => one.status === 409)).toMatchObject({ body: { code: 'idempotency-in-flight' } });
	expect((await records()) - before).toBe(1);
	const restarted = await startApi({ databaseUrl: api.databaseUrl, keys: api });
	for (const one of [api, restarted]) {
		const again = await one.call('/v1/mails', { ...withKey('twins'), body: MAIL });
		expect([again.status, again.body]).toEqual([202, first?.body]);
		expect(again.headers.get('idempotent-replayed')).toBe('true');
		expect(again.headers.get('location')).toBe(`/v1/messages/${first?.body.id}`);
	}
	await restarted.stop();
	expect((await records()) - before).toBe(1);
});

test('another body with the same key is 422; the same key on another operation or tenant is another key', async () => {
	await api.call('/v1/mails', { ...withKey('k'), body: MAIL });
	expect((await api.call('/v1/mails', { ...withKey('k'), raw: JSON.stringify(MAIL, null, 1) })).body.code).toBe('idempotency-mismatch');
	const batch = await api.call('/v1/mails:batch', { ...withKey('k'), body: { items: [MAIL, MAIL] } });
	expect([batch.status, batch.headers.get('idempotent-replayed'), Object.keys(batch.body)]).toEqual([202, null, ['ids']]);
	expect((await api.call('/v1/mails:batch', { ...withKey('k'), body: { items: [MAIL, MAIL] } })).body).toEqual(batch.body);
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const there = { key: api.platformKey, headers: { 'idempotency-key': 'k', 'tidings-tenant': tenant.id } };
	await api.call('/v1/mail-servers', { ...there, body: server });
	expect((await api.call('/v1/mails', { ...there, body: { ...MAIL, subject: 'Other' } })).status).toBe(202);
});

test('a request that was accepted is replayed though it would be refused today; one that was refused is checked anew', async () => {
	const refused = { ...MAIL, from: 'me@other.example' };
	expect((await api.call('/v1/mails', { ...withKey('late'), body: refused })).status).toBe(422);
	const accepted = await api.call('/v1/mails', { ...withKey('late'), body: MAIL });
	expect(accepted.status).toBe(202);
	await api.db.pool.query(`update mail_send_server_config set active = false where tenant_id = $1`, [api.tenantId]);
	await new Promise((resolve) => setImmediate(resolve));
	expect((await api.call('/v1/mails', { ...withKey('late'), body: MAIL })).body).toEqual(accepted.body);
	expect((await api.call('/v1/mails', { ...withKey('late'), body: refused })).body.code).toBe('idempotency-mismatch');
	await api.db.pool.query(`update mail_send_server_config set active = true where tenant_id = $1`, [api.tenantId]);
});

test.each([
	['', 400],
	['a'.repeat(256), 400],
	['a b', 400],
	['é', 400],
	['a'.repeat(255), 202],
	['!~', 202],
])('the key %j is answered %i', async (key, status) => {
	expect((await api.call('/v1/mails', { ...withKey(key), body: MAIL })).status).toBe(status);
});

test('a duplicate by dedupeKey is answered 202 with the first message as it stands, also when it is replayed, and writes nothing', async () => {
	const mail = { ...MAIL, to: ['bo@example.com', 'ann@example.com'], dedupeKey: 'A-17' };
	const { body: first } = await api.call('/v1/mails', { body: mail });
	expect((await api.call(`/v1/messages/${first.id}:cancel`, { method: 'POST' })).status).toBe(200);
	const before = await countRows(api.db);
	const again = await api.call('/v1/mails', { body: { ...mail, to: ['ann@EXAMPLE.com', ' bo@example.com'], subject: 'Other' } });
	expect([again.status, again.body]).toEqual([202, { id: first.id, status: 'CANCELLED', createdAt: first.createdAt, deduplicated: true }]);
	expect(again.headers.get('location')).toBe(`/v1/messages/${first.id}`);
	expect(await countRows(api.db)).toEqual(before);
	const keyed = { ...withKey('dup'), body: mail };
	expect((await api.call('/v1/mails', keyed)).body).toEqual(again.body);
	await api.call(`/v1/messages/${first.id}:retry`, { method: 'POST' });
	const replayed = await api.call('/v1/mails', keyed);
	expect([replayed.headers.get('idempotent-replayed'), replayed.body]).toEqual(['true', { ...again.body, status: 'RETRY' }]);
	const other = { ...mail, to: ['ann@example.com'] };
	const batch = await api.call('/v1/mails:batch', { body: { items: [other, mail, other] } });
	expect(batch.body).toEqual({ ids: [expect.any(String), first.id, batch.body.ids[0]], deduplicated: [1, 2] });
});
