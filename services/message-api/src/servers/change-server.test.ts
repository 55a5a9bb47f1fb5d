import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { type Answer, type Call, countRows, startApi, type TestApi } from '../../../../test/harness/api.js';
import { eventually } from '../../../../test/harness/eventually.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
});
afterAll(async () => await api.stop());

const SERVER = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const FULL = {
	username: 'shop',
	password: 'MARK-first',
	from: { address: 'hello@example.com', name: 'Shop' },
	allowedFrom: ['*@example.com'],
	dkim: { domain: 'example.com', selector: 's1', privateKey: rsa },
	ambiguous: 'hold',
};
const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

type Made = { readonly id: string; readonly path: string; readonly etag: string; readonly body: Answer['body'] };

async function make({ name = newId(), ...change }: { name?: string } & Record<string, unknown> = {}, call: Call = {}): Promise<Made> {
	const { body, headers } = await api.call('/v1/mail-servers', { ...call, body: { ...SERVER, ...change, name } });
	return { id: body.id, path: `/v1/mail-servers/${body.id}`, etag: String(headers.get('etag')), body };
}
const patch = (path: string, etag: string, body: object, call: Call = {}): Promise<Answer> =>
	api.call(path, { ...call, method: 'PATCH', headers: { ...call.headers, 'if-match': etag }, body });
const remove = (path: string, etag = '*', call: Call = {}): Promise<Answer> =>
	api.call(path, { ...call, method: 'DELETE', headers: { ...call.headers, 'if-match': etag } });
const stored = async (id: string) => await api.db.prisma.mailSendServerConfig.findUniqueOrThrow({ where: { id } });
/** A tenant of its own, for tests about its default. */
async function newTenant(): Promise<Call & { id: string }> {
	const { body } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId() } });
	return { id: body.id, key: api.platformKey, headers: { 'tidings-tenant': body.id } };
}
const defaultsOf = async (there: Call): Promise<string[]> =>
	(await api.call('/v1/mail-servers?active=all&limit=200', there)).body.data
		.filter((one: { default: boolean }) => one.default)
		.map((one: { id: string }) => one.id);

test('a change says what it has seen: without If-Match it is refused, and so is a stale one', async () => {
	const { path, etag, id } = await make();
	expect(etag).toBe('"1"');
	expect((await api.call(path, { method: 'PATCH', body: { port: 26 } })).status).toBe(428);
	expect((await api.call(path, { method: 'DELETE' })).status).toBe(428);
	const { status, headers, body } = await patch(path, etag, { port: 26 });
	expect([status, headers.get('etag'), body.port]).toEqual([200, '"2"', 26]);
	expect((await api.call(path)).headers.get('etag')).toBe('"2"');
	expect([(await patch(path, etag, { port: 27 })).status, (await remove(path, etag)).status]).toEqual([412, 412]);
	expect((await patch(path, 'nonsense', { port: 27 })).status).toBe(400);
	expect((await patch(path, '*', { port: 28 })).body.port).toBe(28);
	expect(await stored(id)).toMatchObject({ version: 3, port: 28 });
});

test('a stored password is not taken elsewhere: a new host or another security needs it again', async () => {
	const { path } = await make(FULL);
	for (const change of [{ host: '127.0.0.2' }, { security: 'starttls' }, { host: '127.0.0.2', username: 'other' }]) {
		const { status, body } = await patch(path, '*', change);
		expect([status, named(body)]).toEqual([422, ['required /password']]);
	}
	expect((await patch(path, '*', { host: '127.0.0.1', security: 'none' })).status).toBe(200);
	expect((await patch(path, '*', { host: '127.0.0.2', password: 'MARK-first' })).body.host).toBe('127.0.0.2');
	expect((await patch(path, '*', { host: '127.0.0.3', password: null, username: null })).body.hasPassword).toBe(false);
});

test('what is absent stays, also the secrets; from and dkim are merged field by field; null removes', async () => {
	const { path, id, body } = await make(FULL);
	const before = await stored(id);
	const { body: renamed } = await patch(path, '*', { from: { name: 'New' }, dkim: { selector: 's2' }, port: 587 });
	expect(renamed).toEqual({
		...body,
		from: { address: 'hello@example.com', name: 'New' },
		dkim: { domain: 'example.com', selector: 's2' },
		port: 587,
		updatedAt: expect.any(String),
	});
	expect(renamed.updatedAt > body.updatedAt).toBe(true);
	const after = await stored(id);
	expect([after.passwordSealed, after.dkimKeySealed]).toEqual([before.passwordSealed, before.dkimKeySealed]);
	await patch(path, '*', { password: 'MARK-second' });
	expect((await stored(id)).passwordSealed).not.toBe(before.passwordSealed);
	expect((await stored(id)).dkimKeySealed).toBe(before.dkimKeySealed);
	const { body: bare } = await patch(path, '*', {
		password: null,
		dkim: null,
		allowedFrom: null,
		from: { name: null },
		ambiguous: 'resend',
	});
	expect(bare).toMatchObject({
		username: null,
		hasPassword: false,
		dkim: null,
		allowedFrom: ['hello@example.com'],
		from: { address: 'hello@example.com', name: null },
		ambiguous: 'resend',
	});
	expect(await stored(id)).toMatchObject({ passwordSealed: null, dkimKeySealed: null });
	const { rows } = await api.db.pool.query('select * from audit_event where subject_id = $1', [id]);
	expect(rows.filter((row) => row.action === 'mail-server.update')).toHaveLength(3);
	expect(JSON.stringify(rows) + api.log.join('')).not.toMatch(/MARK-|BEGIN PRIVATE KEY/);
});

test('an empty change changes nothing', async () => {
	const { path, id } = await make();
	const { status, headers } = await patch(path, '*', {});
	expect([status, headers.get('etag')]).toEqual([200, '"1"']);
	expect(await api.db.prisma.auditEvent.count({ where: { subjectId: id } })).toBe(1);
});

test.each<[string, object, object, string[]]>([
	['a password without a user', {}, { password: 'x' }, ['required /username']],
	['a user without a password', {}, { username: 'x' }, ['required /password']],
	['half of a login that goes', FULL, { username: null, password: 'x' }, ['required /username']],
	['the other half', FULL, { username: 'x', password: null }, ['required /password']],
	['a From that what stays does not cover', FULL, { from: { address: 'a@other.example' } }, ['from-not-allowed /from/address']],
	['a list that does not cover the From that stays', FULL, { allowedFrom: ['*@other.example'] }, ['from-not-allowed /allowedFrom']],
	['half a dkim where there is none', {}, { dkim: { selector: 's1' } }, ['required /dkim/domain', 'required /dkim/privateKey']],
	['a default that is not active', { active: false }, { default: true }, ['contradiction /default']],
	['a default that shall not be active', {}, { default: true, active: false }, ['contradiction /default']],
	['a limit below none', {}, { dailyLimit: -5 }, ['out-of-range /dailyLimit']],
	[
		'unknown fields, wrong types, and nulls where there must be something',
		{},
		{ colour: 1, port: '25', host: null, name: 'a\nb', scope: 'TENANT' },
		['control-character /name', 'unknown-field /colour', 'unknown-field /scope', 'wrong-type /host', 'wrong-type /port'],
	],
	['a URL as host', {}, { host: 'smtp://mail.example.com' }, ['host-not-allowed /host']],
])('%s is refused by name, and the server stays as it was', async (_, made, change, faults) => {
	const { path, id } = await make({ ...made, default: false });
	const before = await stored(id);
	const { status, body } = await patch(path, '*', change);
	expect([status, named(body)]).toEqual([422, faults]);
	expect(await stored(id)).toEqual(before);
});

test('a name that is taken is refused', async () => {
	const other = await make();
	const { path } = await make();
	expect((await patch(path, '*', { name: other.body.name })).body.code).toBe('name-taken');
	expect((await patch(other.path, '*', { name: other.body.name })).status).toBe(200);
});

test('the new default takes the place of the old one, whose ETag changes; a default that is switched off is one no longer', async () => {
	const there = await newTenant();
	const first = await make({}, there);
	const second = await make({}, there);
	expect(await defaultsOf(there)).toEqual([first.id]);
	expect((await patch(second.path, '*', { default: true }, there)).body.default).toBe(true);
	expect(await defaultsOf(there)).toEqual([second.id]);
	expect((await api.call(first.path, there)).headers.get('etag')).toBe('"2"');
	expect((await patch(second.path, '*', { active: false }, there)).body).toMatchObject({ active: false, default: false });
	expect(await defaultsOf(there)).toEqual([]);
	await api.db.pool.query(`update mail_send_server_config set is_default = true where id = $1`, [second.id]);
	expect((await patch(first.path, '*', { default: true }, there)).body.default).toBe(true);
	expect(await defaultsOf(there)).toEqual([first.id]);
	expect((await patch(second.path, '*', { active: true, default: true }, there)).status).toBe(200);
	expect((await patch(second.path, '*', { default: false }, there)).status).toBe(200);
	expect(await defaultsOf(there)).toEqual([]);
});

test('however many become the default at once, there is one', async () => {
	const there = await newTenant();
	const servers = await Promise.all(Array.from({ length: 4 }, () => make({}, there)));
	const answers = await Promise.all([
		...servers.map((one) => patch(one.path, '*', { default: true }, there)),
		...servers.map(() => api.call('/v1/mail-servers', { ...there, body: { ...SERVER, name: newId(), default: true } })),
	]);
	expect(new Set(answers.map((one) => one.status))).toEqual(new Set([200, 201]));
	expect(await defaultsOf(there)).toHaveLength(1);
});

test('who takes over as the default meets no dead-lock with somebody who goes through the servers in order of their ids, as a rotation of keys does', async () => {
	const there = await newTenant();
	const [first, second] = [await make({}, there), await make({ default: false }, there)];
	expect(first.id < second.id).toBe(true);
	const other = await api.db.pool.connect();
	const lock = (id: string) => other.query('select from mail_send_server_config where id = $1 for no key update', [id]);
	try {
		await other.query(`begin; set local deadlock_timeout = '1min'`);
		await lock(first.id);
		const changing = patch(second.path, '*', { default: true }, there);
		const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
		await eventually(async () => (await api.db.pool.query(waits)).rowCount, { what: 'the change to wait' });
		await lock(second.id);
		await other.query('commit');
		expect((await changing).body).toMatchObject({ default: true });
	} finally {
		other.release();
	}
	expect(await defaultsOf(there)).toEqual([second.id]);
});

test('of changes that saw the same version one wins, and the others are told', async () => {
	const { path, etag, id } = await make();
	const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => patch(path, etag, { port: 1000 + n })));
	expect(answers.map((one) => one.status).sort()).toEqual([200, 412, 412, 412, 412]);
	const won = answers.find((one) => one.status === 200);
	expect(await stored(id)).toMatchObject({ version: 2, port: won?.body.port });
	const free = await Promise.all([1, 2, 3].map((n) => patch(path, '*', { port: 2000 + n })));
	expect(free.map((one) => one.status)).toEqual([200, 200, 200]);
	expect(await stored(id)).toMatchObject({ version: 5 });
	const ends = await Promise.all([remove(path), remove(path), patch(path, '*', { port: 1 })]);
	expect(ends.filter((one) => one.status === 204)).toHaveLength(1);
	expect(ends.every((one) => [200, 204, 404].includes(one.status))).toBe(true);
});

test('a changed config opens its gate and wakes what waits behind it; a pause stays', async () => {
	const { path, id } = await make();
	await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 's', text: 't', serverId: id } });
	const close = async (reason: string): Promise<void> => {
		await api.db.pool.query(`update gate set closed_until = now() + interval '1 hour', reason = $2 where id = $1`, [id, reason]);
		await api.db.pool.query(`update flow set next_at = now() + interval '1 hour' where gate = $1`, [id]);
	};
	const gate = async () => (await api.db.pool.query('select closed_until, reason from gate where id = $1', [id])).rows[0];
	await close('AUTH');
	await patch(path, '*', { username: 'u', password: 'p' });
	expect(await gate()).toEqual({ closed_until: null, reason: null });
	expect((await api.db.pool.query('select next_at <= now() as due from flow where gate = $1', [id])).rows).toEqual([{ due: true }]);
	await close('PAUSED');
	await patch(path, '*', { port: 26 });
	expect(await gate()).toMatchObject({ reason: 'PAUSED' });
});

test('a server is deleted with its gate, and its name is free again; while messages are open it is kept', async () => {
	const { path, id, body } = await make();
	const { body: sent } = await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 's', text: 't', serverId: id } });
	/** Puts the message where it takes long to come by itself. */
	const put = async (table: string, sql: string): Promise<void> => {
		await api.db.pool.query(`alter table ${table} disable trigger all`);
		await api.db.pool.query(`update ${table} set ${sql} where id = $1`, [sent.id]);
		await api.db.pool.query(`alter table ${table} enable trigger all`);
	};
	const refused = async (state: string): Promise<void> => {
		const before = await countRows(api.db);
		const answer = await remove(path);
		expect([answer.status, answer.body.code, answer.body.detail]).toEqual([409, 'state-conflict', expect.stringContaining(state)]);
		expect(await countRows(api.db)).toEqual(before);
	};
	await refused('(PENDING or RETRY)');
	await put('outbox_entry', `status = 'DEAD', taken = null`);
	await refused('(PENDING or RETRY)');
	await api.db.pool.query('delete from outbox_entry where id = $1', [sent.id]);
	await put(
		'send_state',
		`status = 'SENDING', due_at = null, lease_until = now() + interval '1 minute', claimed_at = now(), claimed_by = 'w c'`,
	);
	await refused('(SENDING)');
	await put('send_state', `status = 'HELD', lease_until = null, claimed_at = null, claimed_by = null`);
	await refused('(HELD)');
	await put('send_state', `status = 'FAILED', finished_at = now()`);
	const { status, body: nothing } = await remove(path);
	expect([status, nothing]).toEqual([204, null]);
	expect((await api.call(path)).status).toBe(404);
	expect(await api.db.prisma.gate.count({ where: { id } })).toBe(0);
	expect((await api.call('/v1/mails', { body: { to: ['a@example.com'], subject: 's', text: 't', serverId: id } })).status).toBe(422);
	expect((await make({ name: body.name })).body.name).toBe(body.name);
	expect((await api.db.prisma.auditEvent.findFirst({ where: { subjectId: id, action: 'mail-server.delete' } }))?.detail).toEqual({
		name: body.name,
	});
});
