import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
let id: string;
let admin: string;

beforeAll(async () => {
	api = await startApi();
	const server = {
		name: 'main',
		host: '127.0.0.1',
		port: 25,
		security: 'none',
		username: 'u',
		password: 'p4ssw0rd-marker',
		from: { address: 'hello@example.com' },
	};
	await api.call('/v1/mail-servers', { body: server });
	admin = (await api.call('/v1/api-keys', { body: { name: 'admin', capabilities: ['tenant:admin'] } })).body.key;
	id = (await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' } })).body.id;
	await api.call(`/v1/messages/${id}:cancel`, { body: { note: 'ann@example.com ordered twice' } });
	await api.call(`/v1/messages/${id}:retry`, { method: 'POST' });
});
afterAll(async () => await api.stop());

const events = async (
	query: string,
	key = admin,
): Promise<{ id: string; action: string; actor: string; at: string; detail: object; subjectId: string }[]> =>
	(await api.call(`/v1/audit-events${query}`, { key })).body.data;
const actions = async (query: string): Promise<string[]> => (await events(query)).map((one) => one.action);

test('events are listed newest first, and filters narrow them down', async () => {
	expect((await actions('')).slice(0, 4)).toEqual(['message.retry', 'message.cancel', 'api-key.create', 'mail-server.create']);
	expect(await actions('?action=message.cancel')).toEqual(['message.cancel']);
	expect(await actions('?action=message.')).toEqual(['message.retry', 'message.cancel']);
	expect(await actions('?action=message')).toEqual([]);
	expect(await actions('?action=m%25.')).toEqual([]);
	expect(await actions('?subjectType=mail-server')).toEqual(['mail-server.create']);
	expect(await actions(`?subjectId=${id}`)).toEqual(['message.retry', 'message.cancel']);
	expect(await actions(`?subjectId=${id.toUpperCase()}&action=message.retry`)).toEqual(['message.retry']);
	const [newest] = await events('');
	expect(await actions(`?actor=${newest?.actor}&action=message.`)).toEqual(['message.retry', 'message.cancel']);
	expect(await actions('?actor=key:0')).toEqual([]);
	expect(await actions(`?createdAfter=${newest?.at}&action=message.`)).toEqual(['message.retry']);
	expect(await actions(`?createdBefore=${newest?.at}&action=message.`)).toEqual(['message.cancel']);
	expect(await actions('?createdAfter=2999-01-01T00:00:00Z')).toEqual([]);
});

test('pages join without a gap', async () => {
	const all = (await events('')).map((one) => one.id);
	const first = (await api.call('/v1/audit-events?limit=2', { key: admin })).body;
	const second = (await api.call(`/v1/audit-events?limit=200&cursor=${first.nextCursor}`, { key: admin })).body;
	expect([...first.data, ...second.data].map((one: { id: string }) => one.id)).toEqual(all);
	expect(second.nextCursor).toBeNull();
});

test('no event holds a secret, and an address only for those who may read content', async () => {
	expect(JSON.stringify(await events('?limit=200', api.apiKey))).not.toContain('p4ssw0rd-marker');
	expect((await events('?action=message.cancel'))[0]?.detail).toEqual({
		from: 'PENDING',
		to: 'CANCELLED',
		note: 'a•••@example.com ordered twice',
	});
	expect((await events('?action=message.cancel', api.apiKey))[0]?.detail).toMatchObject({ note: 'ann@example.com ordered twice' });
});

test('a tenant sees its own events only, and the platform those of the tenant that it names', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Other' } });
	const { body } = await api.call('/v1/audit-events', { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } });
	expect(body.data).toMatchObject([{ action: 'tenant.create', subjectId: tenant.id }]);
	expect(await events(`?subjectId=${tenant.id}`)).toEqual([]);
	expect(await events(`?subjectId=${id}`, api.platformKey)).toEqual([]);
	const reader = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:read'] } })).body.key;
	expect((await api.call('/v1/audit-events', { key: reader })).body.detail).toContain('`tenant:admin`');
});

test.each(['?subjectId=1', '?action=', '?action=a%00', '?createdAfter=x', '?cursor=x', '?limit=0', '?tenantId=1'])(
	'the query %s is refused',
	async (query) => {
		const { status, body } = await api.call(`/v1/audit-events${query}`);
		expect([status, body.code]).toEqual([400, 'malformed-request']);
	},
);
