import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../../test/harness/api.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' }, scope: 'PLATFORM' };
	await api.call('/v1/mail-servers', { key: api.platformKey, body: server });
});
afterAll(async () => await api.stop());

const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

async function tenantWith(retryTypes: unknown): Promise<string> {
	const made = await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId(), settings: { retryTypes } } });
	expect(made.status).toBe(201);
	expect(made.body.settings.retryTypes).toEqual(retryTypes);
	return made.body.id;
}

const change = async (id: string, settings: unknown) =>
	await api.call(`/v1/tenants/${id}`, { method: 'PATCH', key: api.platformKey, headers: { 'if-match': '*' }, body: { settings } });

async function budgetOf(tenant: string, type?: string): Promise<number> {
	const headers = { 'tidings-tenant': tenant };
	const mail = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', ...(type === undefined ? {} : { type }) };
	const { body } = await api.call('/v1/mails', { key: api.platformKey, headers, body: mail });
	return (await api.call(`/v1/messages/${body.id}`, { key: api.platformKey, headers })).body.budgetMax;
}

test('a tenant’s retry policy of a type, then that of all types, then the operator’s says how many attempts a message has', async () => {
	const tenant = await tenantWith({ 'order.confirmed': { maxAttempts: 8 }, urgent: { jitter: 0 }, '*': { maxAttempts: 3 } });
	expect(await budgetOf(tenant, 'order.confirmed')).toBe(8);
	expect(await budgetOf(tenant, 'urgent')).toBe(3);
	expect(await budgetOf(tenant)).toBe(3);
	expect((await change(tenant, { retryTypes: { mail: { maxAttempts: 1 } } })).status).toBe(200);
	expect(await budgetOf(tenant)).toBe(1);
	expect(await budgetOf(tenant, 'toString')).toBe(5);
	expect((await change(tenant, { retryTypes: null })).body.settings.retryTypes).toBeNull();
	expect(await budgetOf(tenant)).toBe(5);
});

test('one setting of a tenant leaves its others as they are, and the audit shows the policies', async () => {
	const tenant = await tenantWith({ '*': { maxAttempts: 3 } });
	expect((await change(tenant, { maxAgeHours: 24 })).body.settings).toEqual({
		apiRatePerSecond: null,
		maxAgeHours: 24,
		retryTypes: { '*': { maxAttempts: 3 } },
	});
	await change(tenant, { retryTypes: { a: { jitter: 0.1 } } });
	const headers = { 'tidings-tenant': tenant };
	const { body } = await api.call('/v1/audit-events?action=tenant.update&limit=1', { key: api.platformKey, headers });
	expect(body.data[0].detail.settings).toEqual(['retryTypes={"a":{"jitter":0.1}}']);
});

test('every fault of retry policies is told at once, and nothing is written', async () => {
	const bad = {
		'': { maxAttempts: 2 },
		['x'.repeat(101)]: {},
		'a\nb': {},
		mail: { maxAttempts: 0, multiplier: 0.5, jitter: 2, delay: 1 },
		other: { maxSeconds: 1e300, baseSeconds: '5', quotaFloorSeconds: -1 },
	};
	const { status, body } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId(), settings: { retryTypes: bad } } });
	expect(status).toBe(422);
	const at = '/settings/retryTypes';
	expect(named(body)).toEqual(
		[
			`too-short ${at}/`,
			`too-long ${at}/${'x'.repeat(101)}`,
			`control-character ${at}/a\nb`,
			`out-of-range ${at}/mail/maxAttempts`,
			`out-of-range ${at}/mail/multiplier`,
			`out-of-range ${at}/mail/jitter`,
			`unknown-field ${at}/mail/delay`,
			`out-of-range ${at}/other/maxSeconds`,
			`wrong-type ${at}/other/baseSeconds`,
			`out-of-range ${at}/other/quotaFloorSeconds`,
		].sort(),
	);
});

test('a tenant has at most a hundred such policies', async () => {
	const types = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, index) => [`t${index}`, { maxAttempts: 2 }]));
	await tenantWith(types(100));
	const { status, body } = await api.call('/v1/tenants', {
		key: api.platformKey,
		body: { name: newId(), settings: { retryTypes: types(101) } },
	});
	expect([status, named(body)]).toEqual([422, [expect.stringMatching(/^[a-z-]+ \/settings\/retryTypes$/)]]);
});
