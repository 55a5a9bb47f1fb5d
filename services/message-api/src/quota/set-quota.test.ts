import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Answer, type Call, startApi, type TestApi } from '../../../../test/harness/api.js';

let api: TestApi;
let platform: Call;
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

beforeAll(async () => {
	api = await startApi({ caps: { MAIL: 500, SMS: null, LINE: 7 } });
	platform = { key: api.platformKey };
});
afterAll(async () => await api.stop());

const newTenant = async (): Promise<string> =>
	(await api.call('/v1/tenants', { ...platform, body: { name: crypto.randomUUID() } })).body.id;
const read = (id: string): Promise<Answer> => api.call(`/v1/tenants/${id}/quota`, platform);
const put = (id: string, body: object, etag: string | null = '*'): Promise<Answer> =>
	api.call(`/v1/tenants/${id}/quota`, { ...platform, method: 'PUT', body, ...(etag === null ? {} : { headers: { 'if-match': etag } }) });
const audits = async (id: string): Promise<{ detail: object; actor: string }[]> =>
	(await api.call('/v1/audit-events?action=tenant.set-quota', { ...platform, headers: { 'tidings-tenant': id } })).body.data;

test('a tenant for whom nothing is set has the operator’s defaults; what is set replaces all, null lifts the limit, and what is absent goes back', async () => {
	const id = await newTenant();
	const before = await read(id);
	expect(before.body).toEqual({ tenantId: id, mailMonthly: 500, smsMonthly: null, lineMonthly: 7, defaults: ['MAIL', 'SMS', 'LINE'] });
	expect(before.headers.get('etag')).toBe('"0"');
	const set = await put(id, { mailMonthly: 0, lineMonthly: null }, '"0"');
	expect(set.body).toEqual({ tenantId: id, mailMonthly: 0, smsMonthly: null, lineMonthly: null, defaults: ['SMS'] });
	expect([set.headers.get('etag'), (await read(id)).body]).toEqual(['"1"', set.body]);
	expect((await put(id, { smsMonthly: 3 })).body).toEqual({
		tenantId: id,
		mailMonthly: 500,
		smsMonthly: 3,
		lineMonthly: 7,
		defaults: ['MAIL', 'LINE'],
	});
	expect((await audits(id)).map((one) => one.detail)).toEqual([
		{
			quota: ['mailMonthly=default', 'smsMonthly=3', 'lineMonthly=default'],
			formerQuota: ['mailMonthly=0', 'smsMonthly=default', 'lineMonthly=unlimited'],
		},
		{ quota: ['mailMonthly=0', 'lineMonthly=unlimited'], formerQuota: ['mailMonthly=default', 'lineMonthly=default'] },
	]);
});

test('a change needs the tag of what stands; one that changes nothing writes nothing', async () => {
	const id = await newTenant();
	expect((await put(id, { mailMonthly: 1 }, null)).status).toBe(428);
	expect((await put(id, { mailMonthly: 1 }, '"7"')).status).toBe(412);
	const racers = await Promise.all([1, 2, 3, 4].map((mailMonthly) => put(id, { mailMonthly }, '"0"')));
	expect(racers.map((one) => one.status).sort()).toEqual([200, 412, 412, 412]);
	const { body } = await read(id);
	expect((await put(id, { mailMonthly: body.mailMonthly }, '"1"')).headers.get('etag')).toBe('"1"');
	expect(await audits(id)).toHaveLength(1);
});

test('every fault of a quota is told at once, and a tenant that is not there is 404', async () => {
	const id = await newTenant();
	const faulty = await put(id, { mailMonthly: -1, smsMonthly: '5', lineMonthly: 1.5, faxMonthly: 1 });
	expect([faulty.status, faulty.body.errors.map((one: { pointer: string }) => one.pointer).sort()]).toEqual([
		422,
		['/faxMonthly', '/lineMonthly', '/mailMonthly', '/smsMonthly'],
	]);
	const nobody = crypto.randomUUID();
	expect([(await read(nobody)).status, (await put(nobody, {})).status]).toEqual([404, 404]);
	await api.db.pool.query(`alter table tenant disable trigger user`);
	await api.db.pool.query(`update tenant set status = 'DELETED' where id = $1`, [id]);
	expect((await put(id, { mailMonthly: 1 })).body.code).toBe('state-conflict');
});

test('usage is shown for one month and each channel, also where nothing was sent; the cap of a month that is over is the one that held then', async () => {
	const id = await newTenant();
	await put(id, { mailMonthly: 10, lineMonthly: 1 });
	const own: Call = { ...platform, headers: { 'tidings-tenant': id } };
	await api.db.pool.query(
		`insert into tenant_message_usage (tenant_id, channel, month, used, cap, last_record_id) values
		($1, 'MAIL', '2026-01-01', 3, 4, $1), ($1, 'SMS', '2026-01-01', 5, null, $1),
		($1, 'MAIL', date_trunc('month', now() at time zone 'UTC'), 12, 20, $1)`,
		[id],
	);
	expect((await api.call('/v1/quota-usage?month=2026-01', own)).body).toEqual({
		data: [
			{ month: '2026-01', channel: 'MAIL', used: 3, cap: 4, remaining: 1 },
			{ month: '2026-01', channel: 'SMS', used: 5, cap: null, remaining: null },
			{ month: '2026-01', channel: 'LINE', used: 0, cap: 1, remaining: 1 },
		],
	});
	const month = expect.stringMatching(MONTH);
	expect((await api.call('/v1/quota-usage', own)).body.data).toEqual([
		{ month, channel: 'MAIL', used: 12, cap: 10, remaining: 0 },
		{ month, channel: 'SMS', used: 0, cap: null, remaining: null },
		{ month, channel: 'LINE', used: 0, cap: 1, remaining: 1 },
	]);
	expect((await api.call('/v1/quota-usage')).body.data.map((one: { used: number }) => one.used)).toEqual([0, 0, 0]);
	for (const wrong of ['2026-13', '2026', '26-01', '0000-01', '2026-1'])
		expect((await api.call(`/v1/quota-usage?month=${wrong}`)).status).toBe(400);
});

const warnings = async (id: string): Promise<string[]> => {
	const { body } = await api.call('/v1/audit-events?action=quota.warn', { ...platform, headers: { 'tidings-tenant': id } });
	return body.data.map((one: { detail: { percent: string; used: string; cap: string } }) => {
		const { percent, used, cap } = one.detail;
		return `${percent} % of ${cap} by ${used}`;
	});
};
const use = (id: string, used: number): Promise<unknown> =>
	api.db.pool.query(
		`insert into tenant_message_usage (tenant_id, channel, month, used, cap, last_record_id) values ($1, 'MAIL', date_trunc('month', now() at time zone 'UTC'), $2, null, $1)`,
		[id, used],
	);

test('a cap that comes down to what is used warns at once, of each level once', async () => {
	const id = await newTenant();
	await put(id, { mailMonthly: null });
	await use(id, 90);
	await put(id, { mailMonthly: 1_000 });
	expect(await warnings(id)).toEqual([]);
	await put(id, { mailMonthly: 100 });
	expect(await warnings(id)).toEqual(['80 % of 100 by 90']);
	await put(id, { mailMonthly: 90 });
	await put(id, { mailMonthly: 50 });
	expect(await warnings(id)).toEqual(['100 % of 90 by 90', '80 % of 100 by 90']);
});

test('a default that came down warns with the first refusal, once', async () => {
	await use(api.tenantId, 500);
	const server = { name: 'any', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'shop@example.com' } };
	const { body } = await api.call('/v1/mail-servers', { body: server });
	const mail = { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', serverId: body.id } };
	for (let n = 0; n < 3; n += 1) expect((await api.call('/v1/mails', mail)).body.code).toBe('quota-exceeded');
	expect((await warnings(api.tenantId)).sort()).toEqual(['100 % of 500 by 500', '80 % of 500 by 500']);
});
