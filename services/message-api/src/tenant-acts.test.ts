import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { type Answer, startApi, type TestApi } from '../../../test/harness/api.js';
import { bootstrap } from './bootstrap.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
});
afterAll(async () => await api.stop());

type Options = { method?: string; etag?: string; key?: string };

/** Calls as the operator, unless a key is given. */
async function call(path: string, body?: unknown, { method, etag, key = api.platformKey }: Options = {}): Promise<Answer> {
	return await api.call(path, {
		key,
		...(body === undefined ? {} : { body }),
		method: method ?? (body !== undefined || /:\w+$/.test(path) ? 'POST' : 'GET'),
		headers: etag === undefined ? {} : { 'if-match': etag },
	});
}

const etagOf = (answer: Answer): string => answer.headers.get('etag') ?? '';
const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

async function makeTenant(settings: object = {}): Promise<{ id: string; name: string; key: string; etag: string }> {
	const name = `tenant ${newId()}`;
	const made = await call('/v1/tenants', { name, settings });
	expect(made.status).toBe(201);
	const { id } = made.body;
	const there = { key: api.platformKey, headers: { 'tidings-tenant': id } };
	const capabilities = ['messages:send', 'messages:read', 'messages:act', 'providers:write'];
	const { body } = await api.call('/v1/api-keys', { ...there, body: { name: 'k', capabilities } });
	const server = { name: 's', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'a@shop.example' } };
	expect((await api.call('/v1/mail-servers', { ...there, body: server })).status).toBe(201);
	return { id, name, key: body.key, etag: etagOf(made) };
}

const mail = { to: ['ann@example.com'], subject: 'Hi', text: 'Hi' };

async function auditOf(tenantId: string): Promise<string[]> {
	const { rows } = await api.db.pool.query('select action, detail from audit_event where tenant_id = $1 order by id', [tenantId]);
	return rows.filter((row) => row.action.startsWith('tenant.')).map((row) => `${row.action} ${JSON.stringify(row.detail)}`);
}

test('a tenant that is made shows its settings, where it is, and its ETag, and the audit says what was given', async () => {
	const made = await call('/v1/tenants', { name: 'Full', settings: { apiRatePerSecond: 25, maxAgeHours: null } });
	expect(made.status).toBe(201);
	expect(made.headers.get('location')).toBe(`/v1/tenants/${made.body.id}`);
	expect(etagOf(made)).toBe('"1"');
	expect(made.body).toEqual({
		id: expect.any(String),
		name: 'Full',
		kind: 'TENANT',
		status: 'ACTIVE',
		settings: { apiRatePerSecond: 25, maxAgeHours: null, retryTypes: null },
		queued: null,
		createdAt: expect.any(String),
		updatedAt: expect.any(String),
	});
	const read = await call(`/v1/tenants/${made.body.id}`);
	expect([read.status, etagOf(read), read.body]).toEqual([200, '"1"', made.body]);
	expect(await auditOf(made.body.id)).toEqual([
		expect.stringMatching(/^tenant\.create .*"settings": ?\["apiRatePerSecond=25", ?"maxAgeHours=null"\]/),
	]);
});

test('settings that nobody knows or that are out of range are refused by name, all at once', async () => {
	const faulty = { 'templates.defaults': 1, maxAgeHours: 1.5, apiRatePerSecond: 0 };
	const { status, body } = await call('/v1/tenants', { name: '', settings: faulty });
	expect(status).toBe(422);
	expect(named(body)).toEqual([
		'out-of-range /settings/apiRatePerSecond',
		'too-short /name',
		'unknown-field /settings/templates.defaults',
		'wrong-type /settings/maxAgeHours',
	]);
	for (const maxAgeHours of [0, 721, '24'])
		expect((await call('/v1/tenants', { name: 'X', settings: { maxAgeHours } })).body.errors).toHaveLength(1);
	expect((await call('/v1/tenants?name=X')).body.data).toEqual([]);
});

test('tenants are listed newest first, by name and by state', async () => {
	const [one, two] = [await makeTenant(), await makeTenant()];
	await call(`/v1/tenants/${two.id}:suspend`, {});
	const page = await call('/v1/tenants?limit=1');
	expect(page.body.data.map((row: { id: string }) => row.id)).toEqual([two.id]);
	const next = await call(`/v1/tenants?limit=1&cursor=${page.body.nextCursor}`);
	expect(next.body.data.map((row: { id: string }) => row.id)).toEqual([one.id]);
	const idsOf = async (query: string): Promise<string[]> =>
		(await call(`/v1/tenants?limit=200&${query}`)).body.data.map((row: { id: string }) => row.id);
	expect(await idsOf(`name=${encodeURIComponent(one.name)}`)).toEqual([one.id]);
	expect(await idsOf('status=SUSPENDED')).toContain(two.id);
	expect(await idsOf('status=SUSPENDED')).not.toContain(one.id);
	expect(await idsOf('status=all')).toEqual(expect.arrayContaining([one.id, two.id]));
	expect((await call('/v1/tenants?status=GONE')).status).toBe(400);
	expect((await call('/v1/tenants?name=%00')).status).toBe(400);
});

test('a change needs the ETag of what was read, merges settings field by field, and takes no name that is taken', async () => {
	const { id, name } = await makeTenant({ apiRatePerSecond: 1000, maxAgeHours: 24 });
	const other = await makeTenant();
	const change = async (body: unknown, etag?: string): Promise<Answer> =>
		await call(`/v1/tenants/${id}`, body, { method: 'PATCH', ...(etag === undefined ? {} : { etag }) });
	expect((await change({ name: 'Y' })).status).toBe(428);
	const changed = await change({ settings: { maxAgeHours: null } }, '"1"');
	expect([changed.status, etagOf(changed), changed.body.settings]).toEqual([
		200,
		'"2"',
		{ apiRatePerSecond: 1000, maxAgeHours: null, retryTypes: null },
	]);
	expect(await change({ name: 'Y' }, '"1"')).toMatchObject({ status: 412, body: { code: 'precondition-failed' } });
	expect(await change({ name: other.name }, '"2"')).toMatchObject({ status: 409, body: { code: 'name-taken' } });
	expect(named((await change({ name: 'a\n', settings: { x: 1 }, kind: 'PLATFORM' }, '"2"')).body)).toEqual([
		'control-character /name',
		'unknown-field /kind',
		'unknown-field /settings/x',
	]);
	const fresh = `renamed ${newId()}`;
	expect((await change({ name: fresh }, '*')).body).toMatchObject({ name: fresh, settings: { apiRatePerSecond: 1000 } });
	const same = await change({}, '"3"');
	expect([same.status, etagOf(same)]).toEqual([200, '"3"']);
	expect((await auditOf(id)).slice(1)).toEqual([
		expect.stringMatching(/^tenant\.update .*"maxAgeHours=null"/),
		expect.stringMatching(new RegExp(`^tenant\\.update .*"formerName": ?"${name}"`)),
	]);
});

test('two changes on the same ETag: one is made, the other is told', async () => {
	const { id, etag } = await makeTenant();
	const change = async (maxAgeHours: number): Promise<Answer> =>
		await call(`/v1/tenants/${id}`, { settings: { maxAgeHours } }, { method: 'PATCH', etag });
	const answers = await Promise.all([1, 2, 3, 4].map(change));
	expect(answers.map((one) => one.status).sort()).toEqual([200, 412, 412, 412]);
});

test('a suspended tenant takes nothing at once, can still be read, and takes messages again when it is resumed', async () => {
	const { id, key } = await makeTenant();
	const send = async (): Promise<Answer> => await api.call('/v1/mails', { key, body: mail });
	const first = await send();
	expect(first.status).toBe(202);
	const suspended = await call(`/v1/tenants/${id}:suspend`, { note: 'complaints' });
	expect([suspended.status, suspended.body.status, etagOf(suspended)]).toEqual([200, 'SUSPENDED', '"2"']);
	expect(await send()).toMatchObject({ status: 403, body: { code: 'tenant-not-active' } });
	expect((await api.call('/v1/mails:batch', { key, body: { items: [mail] } })).status).toBe(403);
	const there = { key: api.platformKey, headers: { 'tidings-tenant': id } };
	expect((await api.call('/v1/mails', { ...there, body: mail })).status).toBe(403);
	expect((await api.call(`/v1/messages/${first.body.id}`, { key })).body.status).toBe('PENDING');
	expect(await call(`/v1/tenants/${id}:suspend`)).toMatchObject({
		status: 409,
		body: { code: 'state-conflict', detail: expect.stringContaining('SUSPENDED') },
	});
	const resumed = await call(`/v1/tenants/${id}:resume`);
	expect([resumed.status, resumed.body.status]).toEqual([200, 'ACTIVE']);
	expect((await send()).status).toBe(202);
	expect(await call(`/v1/tenants/${id}:resume`)).toMatchObject({ status: 409, body: { detail: expect.stringContaining('ACTIVE') } });
	expect((await auditOf(id)).slice(1)).toEqual([
		expect.stringMatching(/^tenant\.suspend .*"note": ?"complaints"/),
		expect.stringMatching(/^tenant\.resume .*"from": ?"SUSPENDED"/),
	]);
	expect(named((await call(`/v1/tenants/${id}:suspend`, { note: 'a\0', why: 1 })).body)).toEqual([
		'control-character /note',
		'unknown-field /why',
	]);
});

test('what a tenant was told while it took messages is told again when it repeats the request, also while it is halted', async () => {
	const { id, key } = await makeTenant();
	const servers = await api.call('/v1/mail-servers', { key });
	for (const [path, body] of [
		['/v1/mails', mail],
		[`/v1/mail-servers/${servers.body.data[0].id}:test`, { to: 'ann@example.com' }],
	] as const) {
		await call(`/v1/tenants/${id}:resume`);
		const send = async (idempotencyKey: string): Promise<Answer> =>
			await api.call(path, { key, body, headers: { 'idempotency-key': idempotencyKey } });
		const first = await send('one');
		expect(first.status).toBe(202);
		await call(`/v1/tenants/${id}:suspend`);
		const again = await send('one');
		expect([again.status, again.headers.get('idempotent-replayed'), again.body.id]).toEqual([202, 'true', first.body.id]);
		expect((await send('two')).body.code).toBe('tenant-not-active');
	}
	expect((await api.call('/v1/mails?validateOnly=true', { key, body: mail, headers: { 'idempotency-key': 'one' } })).status).toBe(403);
});

test('a deletion names what was seen and what becomes of what waits, and can be taken back until erasing begins', async () => {
	const { id, key, etag } = await makeTenant();
	const remove = async (query: string, given?: string): Promise<Answer> =>
		await call(`/v1/tenants/${id}${query}`, undefined, { method: 'DELETE', ...(given === undefined ? {} : { etag: given }) });
	expect((await remove('')).status).toBe(428);
	expect((await remove('', '"9"')).status).toBe(412);
	expect((await remove('?queued=drop', etag)).status).toBe(400);
	await call(`/v1/tenants/${id}:suspend`);
	expect(await remove('', '*')).toMatchObject({ status: 409, body: { detail: expect.stringMatching(/SUSPENDED.*queued=cancel/) } });
	const deleting = await remove('?queued=cancel', '*');
	expect([deleting.status, deleting.body.status, deleting.body.queued, etagOf(deleting)]).toEqual([202, 'DELETING', 'cancel', '"3"']);
	expect(await remove('', '*')).toMatchObject({ status: 409, body: { detail: expect.stringContaining('DELETING') } });
	expect((await call(`/v1/tenants/${id}:suspend`)).status).toBe(409);
	expect((await api.call('/v1/mails', { key, body: mail })).body.code).toBe('tenant-not-active');
	expect((await api.call('/v1/messages', { key })).status).toBe(200);
	expect((await api.call(`/v1/messages/${newId()}:retry`, { key, method: 'POST' })).body.code).toBe('tenant-not-active');
	expect((await call(`/v1/tenants/${id}:resume`)).body).toMatchObject({ status: 'ACTIVE', queued: null });
	expect((await remove('', '*')).body).toMatchObject({ status: 'DELETING', queued: 'deliver' });
	await api.db.pool.query('update tenant set erasing_at = now() where id = $1', [id]);
	expect(await call(`/v1/tenants/${id}:resume`)).toMatchObject({ status: 409, body: { detail: expect.stringContaining('no way back') } });
});

test('the platform’s own tenant can be read and renamed, and neither suspended nor deleted', async () => {
	const { rows } = await api.db.pool.query(`select id from tenant where kind = 'PLATFORM'`);
	const path = `/v1/tenants/${rows[0].id}`;
	const renamed = await call(path, { name: 'The operator' }, { method: 'PATCH', etag: '*' });
	expect([renamed.status, renamed.body.kind, renamed.body.name]).toEqual([200, 'PLATFORM', 'The operator']);
	for (const answer of [
		await call(`${path}:suspend`),
		await call(`${path}:resume`),
		await call(path, undefined, { method: 'DELETE', etag: '*' }),
	])
		expect(answer).toMatchObject({ status: 409, body: { code: 'state-conflict', detail: expect.stringContaining('platform’s own') } });
});

test('tenants that are not there are 404, and whoever is not the platform is told what is missing', async () => {
	const { id, key } = await makeTenant();
	for (const [path, method] of [
		['', 'GET'],
		['', 'PATCH'],
		['', 'DELETE'],
		[':suspend', 'POST'],
		[':resume', 'POST'],
	] as const) {
		const body = method === 'PATCH' || method === 'POST' ? {} : undefined;
		expect([path, method, (await call(`/v1/tenants/${newId()}${path}`, body, { method, etag: '*' })).status]).toEqual([path, method, 404]);
		const refused = await call(`/v1/tenants/${id}${path}`, body, { method, etag: '*', key });
		expect([path, method, refused.status, refused.body.code]).toEqual([path, method, 403, 'capability-missing']);
	}
});

test('the age of a tenant’s messages is its setting, at acceptance and when a person renews it', async () => {
	const { id, key, etag } = await makeTenant({ maxAgeHours: 24 });
	const send = async (): Promise<string> => (await api.call('/v1/mails', { key, body: mail })).body.id;
	const hoursOf = async (message: string, from: string): Promise<number> => {
		const { rows } = await api.db.pool.query(
			`select extract(epoch from not_after - ${from})::float8 / 3600 as hours from send_state where id = $1`,
			[message],
		);
		return rows[0].hours;
	};
	const first = await send();
	expect(await hoursOf(first, 'due_at')).toBe(24);
	const keyed = await api.call('/v1/mails', { key, body: { ...mail, dedupeKey: 'a', notBefore: '2999-01-01T00:00:00Z' } });
	expect(await hoursOf(keyed.body.id, 'due_at')).toBe(24);
	await call(`/v1/tenants/${id}`, { settings: { maxAgeHours: 1 } }, { method: 'PATCH', etag });
	expect(await hoursOf(await send(), 'due_at')).toBe(1);
	expect((await api.call(`/v1/messages/${first}:retry`, { key, body: {} })).status).toBe(200);
	expect(await hoursOf(first, 'due_at')).toBeCloseTo(1, 5);
	await call(`/v1/tenants/${id}`, { settings: { maxAgeHours: null } }, { method: 'PATCH', etag: '*' });
	expect(await hoursOf(await send(), 'due_at')).toBe(72);
});

test('a bootstrap after the first tenant is deleted makes another first one, and gives nobody else’s keys', async () => {
	const mine = await startApi();
	try {
		await mine.call('/v1/tenants', { key: mine.platformKey, body: { name: 'Customer' } });
		await mine.db.pool.query(`update tenant set status = 'DELETING', queued = 'cancel' where id = $1`, [mine.tenantId]);
		await mine.db.pool.query(`update tenant set status = 'DELETED', queued = null where id = $1`, [mine.tenantId]);
		const [once, twice] = [await bootstrap(mine.db), await bootstrap(mine.db)];
		expect(once.tenantId).toBe(twice.tenantId);
		const { rows } = await mine.db.pool.query('select name, status from tenant where id = $1', [once.tenantId]);
		expect(rows).toEqual([{ name: 'First tenant', status: 'ACTIVE' }]);
	} finally {
		await mine.stop();
	}
});
