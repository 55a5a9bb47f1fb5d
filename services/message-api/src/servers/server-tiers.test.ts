import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { type Answer, type Call, countRows, startApi, type TestApi } from '../../../../test/harness/api.js';

let api: TestApi;
let platform: Call;
let asTenant: Call;
beforeAll(async () => {
	api = await startApi();
	platform = { key: api.platformKey };
	asTenant = { key: api.platformKey, headers: { 'tidings-tenant': api.tenantId } };
});
afterAll(async () => await api.stop());

const SERVER = { host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@platform.example' } };
const make = (change: object, call: Call): Promise<Answer> =>
	api.call('/v1/mail-servers', { ...call, body: { ...SERVER, name: newId(), ...change } });
const idsOf = (answer: Answer): string[] => answer.body.data.map((one: { id: string }) => one.id);

test('asking for the platform’s own tier without the capability is an explained 403, in a body as in a query', async () => {
	const before = await countRows(api.db);
	const mail = { to: ['ann@example.com'], subject: 's', text: 't' };
	const refused = [
		await make({ scope: 'PLATFORM' }, {}),
		await make({ scope: 'PLATFORM', port: 'wrong' }, {}),
		await api.call('/v1/mails', { body: { ...mail, scope: 'PLATFORM' } }),
		await api.call('/v1/mails?validateOnly=true', { body: { ...mail, scope: 'PLATFORM', colour: 1 } }),
		await api.call('/v1/mails:batch', { body: { items: [mail, { ...mail, scope: 'PLATFORM' }] } }),
		await api.call('/v1/mail-servers?scope=PLATFORM'),
		await api.call('/v1/mail-servers', { headers: { 'tidings-tenant': api.tenantId } }),
	];
	for (const { status, body } of refused)
		expect([status, body.code, body.detail]).toEqual([403, 'capability-missing', expect.stringContaining('`platform`')]);
	expect(refused.map((one) => one.body.errors.map((fault: { pointer: string }) => fault.pointer))).toEqual([
		['/scope'],
		['/scope'],
		['/scope'],
		['/scope'],
		['/items/1/scope'],
		[],
		[],
	]);
	expect(await countRows(api.db)).toEqual(before);
});

test('who holds `platform` makes and finds the platform’s own servers, also while acting for a tenant', async () => {
	const { body: home } = await make({}, platform);
	const { status, headers, body: made } = await make({ scope: 'PLATFORM', default: true }, asTenant);
	const { body: own } = await make({ scope: 'TENANT' }, asTenant);
	expect([status, home.scope, made.scope, own.scope]).toEqual([201, 'PLATFORM', 'PLATFORM', 'TENANT']);
	expect((await api.call(String(headers.get('location')), asTenant)).body).toEqual(made);
	expect(idsOf(await api.call('/v1/mail-servers?scope=PLATFORM', asTenant))).toEqual([made.id, home.id]);
	expect(idsOf(await api.call('/v1/mail-servers?scope=TENANT', asTenant))).toEqual([own.id]);
	expect(idsOf(await api.call('/v1/mail-servers', asTenant))).toEqual([own.id]);
	expect(idsOf(await api.call('/v1/mail-servers', platform))).toEqual([made.id, home.id]);
	expect((await api.call(`/v1/mail-servers/${home.id}`, platform)).body.default).toBe(false);
});

test('platform rows, and those of other tenants, are 404 to a tenant on every verb', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { ...platform, body: { name: newId() } });
	const { body: foreign } = await make({}, { ...platform, headers: { 'tidings-tenant': tenant.id } });
	const { body: shared } = await make({}, platform);
	const before = await api.db.prisma.mailSendServerConfig.findMany({ orderBy: { id: 'asc' } });
	const counts = await countRows(api.db);
	for (const { id } of [foreign, shared, { id: newId() }]) {
		const path = `/v1/mail-servers/${id}`;
		const answers = [
			await api.call(path),
			await api.call(path, { method: 'PATCH', headers: { 'if-match': '*' }, body: { port: 1 } }),
			await api.call(path, { method: 'DELETE', headers: { 'if-match': '*' } }),
			await api.call(`${path}:test`, { body: {} }),
		];
		expect(answers.map((one) => [one.status, one.body.code])).toEqual(Array(4).fill([404, 'not-found']));
	}
	expect(await api.db.prisma.mailSendServerConfig.findMany({ orderBy: { id: 'asc' } })).toEqual(before);
	expect(await countRows(api.db)).toEqual(counts);
});

test('a test is a message of its own type with one attempt, pinned to the server, also when that is not active', async () => {
	const { body: server } = await make({ active: false }, {});
	const path = `/v1/mail-servers/${server.id}:test`;
	const { status, headers, body } = await api.call(path, { method: 'POST' });
	expect([status, headers.get('location'), body]).toEqual([
		202,
		`/v1/messages/${body.id}`,
		{ id: body.id, status: 'PENDING', createdAt: expect.any(String) },
	]);
	expect((await api.call(`/v1/messages/${body.id}`)).body).toMatchObject({
		type: 'tidings.test',
		status: 'PENDING',
		budgetMax: 1,
		serverId: server.id,
		subject: expect.stringContaining(server.name),
		recipients: [{ address: 'hello@platform.example' }],
	});
	const { body: other } = await api.call(path, { body: { to: 'Ann@EXAMPLE.com' } });
	expect((await api.call(`/v1/messages/${other.id}`)).body.recipients).toMatchObject([{ address: 'Ann@example.com' }]);
	const wrong = await api.call(path, { body: { to: 'nobody', colour: 1 } });
	expect([wrong.status, wrong.body.errors.map((one: { pointer: string }) => one.pointer).sort()]).toEqual([422, ['/colour', '/to']]);
});

test('a repeated test with the same Idempotency-Key is the same one, and another server’s is another', async () => {
	const { body: first } = await make({}, {});
	const { body: second } = await make({}, {});
	const ask = (id: string, call: Call = {}): Promise<Answer> =>
		api.call(`/v1/mail-servers/${id}:test`, { method: 'POST', ...call, headers: { 'idempotency-key': 'once' } });
	const answer = await ask(first.id);
	const again = await ask(first.id);
	expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([answer.body, 'true']);
	expect((await ask(second.id)).body.id).not.toBe(answer.body.id);
	expect((await ask(first.id, { body: {} })).body.code).toBe('idempotency-mismatch');
});
