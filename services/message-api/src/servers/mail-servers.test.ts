import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '@tidings/model';
import { countRows, startApi, type TestApi } from '../../../../test/harness/api.js';

let api: TestApi;
let strict: TestApi;
beforeAll(async () => {
	api = await startApi();
	strict = await startApi({ allowPrivateHosts: false });
});
afterAll(async () => {
	await api.stop();
	await strict.stop();
});

const SERVER = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey);
const ed25519 = pem(generateKeyPairSync('ed25519').privateKey);
const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

test('a server is made with its gate and its audit; secrets are sealed and never shown', async () => {
	const given = {
		...SERVER,
		name: 'full',
		security: 'starttls',
		username: 'shop',
		password: 'MARK-password',
		from: { address: 'Shop@EXAMPLE.com', name: 'Shop 王' },
		allowedFrom: ['*@Example.com', 'shop@bücher.example'],
		dkim: { domain: 'Example.com', selector: 'S1.Böx', privateKey: rsa },
		ambiguous: 'hold',
		ratePerMinute: 0,
		dailyLimit: null,
	};
	const { status, headers, body } = await api.call('/v1/mail-servers', { body: given });
	expect([status, headers.get('location')]).toEqual([201, `/v1/mail-servers/${body.id}`]);
	const shown = {
		id: body.id,
		name: 'full',
		scope: 'TENANT',
		host: '127.0.0.1',
		port: 25,
		security: 'starttls',
		username: 'shop',
		hasPassword: true,
		from: { address: 'Shop@example.com', name: 'Shop 王' },
		allowedFrom: ['*@example.com', 'shop@xn--bcher-kva.example'],
		default: true,
		ratePerMinute: null,
		dailyLimit: null,
		ambiguous: 'hold',
		dkim: { domain: 'example.com', selector: 's1.xn--bx-fka' },
		active: true,
		gate: { state: 'OPEN', reason: null, detail: null, closedUntil: null, probeAt: null, since: expect.any(String) },
		createdAt: expect.any(String),
		updatedAt: expect.any(String),
	};
	expect(body).toEqual(shown);
	expect((await api.call(`/v1/mail-servers/${body.id}`)).body).toEqual(shown);
	const { rows } = await api.db.pool.query(
		'select c.*, g.kind, a.action, a.detail from mail_send_server_config c join gate g using (id) join audit_event a on a.subject_id = c.id where c.id = $1',
		[body.id],
	);
	expect(rows).toMatchObject([
		{
			kind: 'CONFIG',
			action: 'mail-server.create',
			password_sealed: expect.stringMatching(/^k1\./),
			dkim_key_sealed: expect.stringMatching(/^k1\./),
		},
	]);
	expect(JSON.stringify(rows) + api.log.join('')).not.toMatch(/MARK-password|BEGIN PRIVATE KEY/);
});

test('the first is the default; a new default takes its place; names are taken once', async () => {
	const second = await api.call('/v1/mail-servers', { body: { ...SERVER, name: 'second' } });
	expect(second.body.default).toBe(false);
	await Promise.all(['third', 'fourth'].map((name) => api.call('/v1/mail-servers', { body: { ...SERVER, name, default: true } })));
	const defaults = (await api.call('/v1/mail-servers?limit=200')).body.data.filter((one: { default: boolean }) => one.default);
	expect(defaults).toHaveLength(1);
	expect(['third', 'fourth']).toContain(defaults[0].name);
	const before = await countRows(api.db);
	const taken = await api.call('/v1/mail-servers', { body: { ...SERVER, name: 'second', default: true } });
	expect([taken.status, taken.body.code]).toEqual([409, 'name-taken']);
	expect(await countRows(api.db)).toEqual(before);
});

test('a server that is not active is no default and takes nobody’s place; the default passes on from one that is not active any more', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Defaults' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	const make = async (name: string, more: object = {}): Promise<boolean> =>
		(await api.call('/v1/mail-servers', { ...there, body: { ...SERVER, name, ...more } })).body.default;
	const defaults = async (): Promise<string[]> =>
		(await api.call('/v1/mail-servers?active=all', there)).body.data
			.filter((one: { default: boolean }) => one.default)
			.map((one: { name: string }) => one.name);
	expect(await make('off', { active: false })).toBe(false);
	expect(await make('first')).toBe(true);
	expect(await make('off too', { active: false })).toBe(false);
	expect(await defaults()).toEqual(['first']);
	await api.db.pool.query(`update mail_send_server_config set active = false where tenant_id = $1`, [tenant.id]);
	expect(await make('off again', { active: false })).toBe(false);
	expect(await defaults()).toEqual(['first']);
	expect(await make('second')).toBe(true);
	expect(await defaults()).toEqual(['second']);
	expect(await make('third')).toBe(false);
});

test('a server that is made is used by the next mail', async () => {
	const { body: made } = await api.call('/v1/mail-servers', {
		body: { ...SERVER, name: 'newest', default: true, from: { address: 'a@new.example' } },
	});
	const { body: sent } = await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 's', text: 't', from: 'a@new.example' } });
	expect((await api.call(`/v1/messages/${sent.id}`)).body.serverId).toBe(made.id);
	const { body: off } = await api.call('/v1/mail-servers', { body: { ...SERVER, name: 'off', active: false } });
	expect(
		named((await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 's', text: 't', serverId: off.id } })).body),
	).toEqual(['server-unknown /serverId']);
	const names = async (query: string): Promise<string[]> =>
		(await api.call(`/v1/mail-servers${query}`)).body.data.map((one: { name: string }) => one.name);
	expect(await names('')).not.toContain('off');
	expect(await names('?active=false')).toEqual(['off']);
	expect(await names('?active=all&limit=1')).toEqual(['off']);
});

test.each<[string, object, string[]]>([
	[
		'unknown fields and wrong types',
		{ colour: 1, port: '25', security: 'ssl' },
		['not-one-of /security', 'unknown-field /colour', 'wrong-type /port'],
	],
	['a port that is none', { port: 65_536 }, ['out-of-range /port']],
	['limits that are none', { ratePerMinute: -1, dailyLimit: 2_000_000_000 }, ['out-of-range /dailyLimit', 'out-of-range /ratePerMinute']],
	['a password without a user', { password: 'x' }, ['required /username']],
	['a user without a password', { username: 'x' }, ['required /password']],
	[
		'line breaks in what reaches the wire',
		{ host: 'a\r\nb', username: 'a\nb', password: 'a\0b', name: 'a\u2028b' },
		['control-character /host', 'control-character /name', 'control-character /password', 'control-character /username'],
	],
	['a URL as host', { host: 'smtp://mail.example.com' }, ['host-not-allowed /host']],
	['a From that is none', { from: { address: 'x' } }, ['bad-address /from/address']],
	['a From that is not covered', { allowedFrom: ['*@other.example'] }, ['from-not-allowed /from/address']],
	[
		'patterns that are none',
		{ allowedFrom: ['*', '*@', '*@*', 'hello@example.com'] },
		['bad-address /allowedFrom/0', 'bad-address /allowedFrom/1', 'bad-address /allowedFrom/2'],
	],
	[
		'a key that is none',
		{ dkim: { domain: 'a b', selector: 's 1', privateKey: 'MARK' } },
		['bad-format /dkim/domain', 'bad-format /dkim/privateKey', 'bad-format /dkim/selector'],
	],
	[
		'a key that cannot be used yet',
		{ dkim: { domain: 'example.com', selector: 's1', privateKey: ed25519 } },
		['not-available /dkim/privateKey'],
	],
	['a default that is not active', { default: true, active: false }, ['contradiction /default']],
	['half a dkim', { dkim: { domain: 'example.com' } }, ['required /dkim/privateKey', 'required /dkim/selector']],
])('%s are refused by name and nothing is written', async (_, change, faults) => {
	const before = await countRows(api.db);
	const { status, body } = await api.call('/v1/mail-servers', { body: { ...SERVER, name: 'wrong', ...change } });
	expect(status).toBe(422);
	expect(named(body)).toEqual(faults);
	expect(await countRows(api.db)).toEqual(before);
});

test.each(['127.0.0.1', 'localhost', '10.0.0.1', '0x7f.1', '2130706433', '[::1]', '::ffff:127.0.0.1', '169.254.169.254', '127.0.0.1.'])(
	'the host %s is refused where private networks are',
	async (host) => {
		expect(named((await strict.call('/v1/mail-servers', { body: { ...SERVER, host } })).body)).toEqual(['host-not-allowed /host']);
	},
);

test('a host that cannot be resolved is refused where private networks are', async () => {
	expect(named((await strict.call('/v1/mail-servers', { body: { ...SERVER, host: 'nowhere.invalid' } })).body)).toEqual([
		'host-unknown /host',
	]);
});

test('a tenant has a number of mail servers that can still be read as one: another is refused', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: 'Many servers' } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	await api.db.pool.query(
		`insert into mail_send_server_config (id, tenant_id, name, host, port, security, from_address, allowed_from, active)
		select gen_random_uuid(), $1::uuid, 'server ' || n, 'h', 25, 'none', 'a@b', '{a@b}', n % 2 = 0 from generate_series(1, $2::int) n`,
		[tenant.id, LIMITS.mailServers],
	);
	const { status, body } = await api.call('/v1/mail-servers', { ...there, body: { ...SERVER, name: 'One more' } });
	expect([status, body.code]).toEqual([409, 'state-conflict']);
	expect(body.detail).toContain(String(LIMITS.mailServers));
});
