import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { NO_CAPS } from '@tidings/model';
import { type Answer, type Call, countRows, startApi, type TestApi } from '../../../../test/harness/api.js';
import { makeServer } from '../../../../test/harness/recipes.js';

let api: TestApi;
let platform: Call;
/** A tenant of its own for each test. */
let tenant: { id: string; call: Call };

beforeAll(async () => {
	api = await startApi({ caps: { ...NO_CAPS, MAIL: 1_000 } });
	platform = { key: api.platformKey };
	await makeServer(api, { apiKey: api.platformKey });
});
afterAll(async () => await api.stop());
beforeEach(async () => {
	tenant = await newTenant();
});

async function newTenant(): Promise<typeof tenant> {
	const { id } = (await api.call('/v1/tenants', { ...platform, body: { name: crypto.randomUUID() } })).body;
	const there = { ...platform, headers: { 'tidings-tenant': id } };
	const { key } = (
		await api.call('/v1/api-keys', {
			...there,
			body: {
				name: 'all',
				capabilities: ['messages:send', 'messages:read', 'messages:act', 'providers:write', 'quota:read', 'tenant:admin'],
			},
		})
	).body;
	return { id, call: { key } };
}

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' };
const FIVE = { ...MAIL, to: ['a@example.com', 'b@example.com'], cc: ['c@example.com'], bcc: ['d@example.com', 'e@example.com'] };
const send = (body: object = MAIL, more: Call = {}): Promise<Answer> => api.call('/v1/mails', { ...tenant.call, ...more, body });
const batch = (items: readonly object[]): Promise<Answer> => api.call('/v1/mails:batch', { ...tenant.call, body: { items } });
const many = <T>(n: number, make: (n: number) => T): T[] => Array.from({ length: n }, (_, index) => make(index));

async function setCap(mailMonthly: number | null, id = tenant.id): Promise<void> {
	const call = { ...platform, method: 'PUT', headers: { 'if-match': '*' }, body: { mailMonthly } };
	expect((await api.call(`/v1/tenants/${id}/quota`, call)).status).toBe(200);
}

async function used(call = tenant.call): Promise<number> {
	return (await api.call('/v1/quota-usage', call)).body.data[0].used;
}

/** The ledger and a recount of the records, both of one snapshot. */
async function compare(): Promise<{ ledger: number; records: number }> {
	const { rows } = await api.db.pool.query(
		`select (select coalesce(sum(used), 0)::int from tenant_message_usage where tenant_id = $1) as ledger,
			(select count(*)::int from send_recipient p join send_record r using (id) where r.tenant_id = $1 and r.scope = 'TENANT') as records`,
		[tenant.id],
	);
	return rows[0];
}

/** Compares again and again until `work` has ended; the ledgers that were seen, each with its recount. */
async function compareDuring(work: Promise<unknown>): Promise<{ ledger: number; records: number }[]> {
	const seen: { ledger: number; records: number }[] = [];
	let isOver = false;
	void work.finally(() => {
		isOver = true;
	});
	while (!isOver) seen.push(await compare());
	return [...seen, await compare()];
}

test('F32 of 64 callers at one below the cap exactly one is accepted, and the ledger equals a recount at all times', async () => {
	await setCap(10);
	expect((await batch(many(9, () => MAIL))).status).toBe(202);
	const callers = Promise.all(many(64, () => send()));
	const seen = await compareDuring(callers);
	const statuses = (await callers).map((one) => one.status);
	expect(statuses.filter((status) => status === 202)).toHaveLength(1);
	expect(statuses.filter((status) => status === 429)).toHaveLength(63);
	expect(seen.filter(({ ledger, records }) => ledger !== records || ledger > 10)).toEqual([]);
	expect(seen.at(-1)).toEqual({ ledger: 10, records: 10 });
});

test('F32 under a mixed load that goes over the cap, singly and in batches and by two nodes, the ledger equals a recount at all times', async () => {
	await setCap(100);
	const other = await startApi({ databaseUrl: api.databaseUrl, keys: api });
	const load = Promise.all(
		many(120, (n) =>
			(n % 2 === 0 ? api : other).call(n % 3 === 0 ? '/v1/mails:batch' : '/v1/mails', {
				...tenant.call,
				...(n % 5 === 0 ? { headers: { 'idempotency-key': `k${n}` } } : {}),
				body: n % 3 === 0 ? { items: [MAIL, MAIL, FIVE] } : { ...MAIL, ...(n % 4 === 0 ? { dedupeKey: `d${n % 8}` } : {}) },
			}),
		),
	);
	const seen = await compareDuring(load);
	expect(new Set((await load).map((one) => one.status))).toEqual(new Set([202, 429]));
	expect(seen.filter(({ ledger, records }) => ledger !== records || ledger > 100)).toEqual([]);
	expect(seen.at(-1)?.ledger).toBeGreaterThan(93);
	await other.stop();
});

test('F32 a batch of 500 across the cap is refused whole, names the item that does not fit, and writes nothing', async () => {
	await setCap(499);
	const before = await countRows(api.db);
	const answer = await batch(many(500, () => MAIL));
	expect(answer).toMatchObject({ status: 429, body: { code: 'quota-exceeded', errors: [{ pointer: '/items/499', code: 'over-quota' }] } });
	expect(answer.body.detail).toMatch(/in \d{4}-\d{2} \(UTC\) 0 of 499 are used, and this request costs 500/);
	expect(await countRows(api.db)).toEqual(before);
	expect((await batch(many(499, () => MAIL))).status).toBe(202);
});

test('callers of other tenants that share a transaction with one over its quota are all accepted', async () => {
	await setCap(0);
	const over = tenant;
	tenant = await newTenant();
	const answers = await Promise.all(many(90, (n) => send(MAIL, n % 3 === 0 ? over.call : {})));
	expect(answers.map((one) => one.status)).toEqual(many(90, (n) => (n % 3 === 0 ? 429 : 202)));
	expect([await used(), await used(over.call)]).toEqual([60, 0]);
});

test('K39 N messages are accepted and N + 1 is refused, each counted once, at acceptance, also one that is for next year; a retry costs nothing', async () => {
	await setCap(3);
	const first = await send();
	const later = await send({ ...MAIL, notBefore: new Date(Date.now() + 400 * 86_400_000).toISOString() });
	const last = await send();
	expect([first.status, later.status, last.status, await used()]).toEqual([202, 202, 202, 3]);
	const refused = await send();
	expect([refused.status, refused.body.errors]).toEqual([429, []]);
	const wait = Number(refused.headers.get('retry-after'));
	const next = new Date(Date.now() + wait * 1_000 + 1_000);
	expect([wait > 0, next.getUTCDate(), next.getUTCHours()]).toEqual([true, 1, 0]);
	expect((await api.call(`/v1/messages/${first.body.id}:cancel`, { ...tenant.call, method: 'POST' })).status).toBe(200);
	expect((await api.call(`/v1/messages/${first.body.id}:retry`, { ...tenant.call, method: 'POST' })).status).toBe(200);
	expect(await used()).toBe(3);
	expect((await send()).status).toBe(429);
});

test('a mail costs its recipients, as its preview says; a trial, a repeat and a duplicate cost nothing, and are answered also when nothing is left', async () => {
	await setCap(5);
	const keyed = { headers: { 'idempotency-key': 'five' } };
	const preview = await api.call('/v1/mails?validateOnly=true', { ...tenant.call, body: FIVE });
	expect([preview.body.preview.cost, await used()]).toEqual([5, 0]);
	const mail = { ...FIVE, dedupeKey: 'five' };
	const first = await send(mail, keyed);
	expect([first.status, await used()]).toEqual([202, 5]);
	expect((await send(mail, keyed)).headers.get('idempotent-replayed')).toBe('true');
	expect((await send(mail)).body).toMatchObject({ id: first.body.id, deduplicated: true });
	expect((await batch([mail, mail])).body).toEqual({ ids: [first.body.id, first.body.id], deduplicated: [0, 1] });
	expect((await batch([mail, MAIL])).status).toBe(429);
	expect((await api.call('/v1/mails?validateOnly=true', { ...tenant.call, body: MAIL })).status).toBe(200);
	expect(await used()).toBe(5);
});

test('a refused request is not remembered under its key: once there is room it is accepted', async () => {
	await setCap(0);
	const keyed = { headers: { 'idempotency-key': 'later' } };
	expect((await send(MAIL, keyed)).status).toBe(429);
	await setCap(1);
	const accepted = await send(MAIL, keyed);
	expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([202, null]);
	await setCap(null);
	expect((await batch(many(20, () => MAIL))).status).toBe(202);
	expect(await used()).toBe(21);
});

test('a mail that tests a server costs like any other', async () => {
	await setCap(1);
	const server = await makeServer(api, { apiKey: String(tenant.call.key) });
	const act = (): Promise<Answer> => api.call(`/v1/mail-servers/${server}:test`, { ...tenant.call, method: 'POST' });
	expect([(await act()).status, (await act()).body.code, await used()]).toEqual([202, 'quota-exceeded', 1]);
});

test('what is sent with the scope PLATFORM is taken of the platform’s own quota, for whomever it is sent', async () => {
	const { rows } = await api.db.pool.query<{ id: string }>(`select id from tenant where kind = 'PLATFORM'`);
	const own = rows[0]?.id ?? '';
	const before = await used(platform);
	await setCap(before + 3, own);
	const there = { ...platform, headers: { 'tidings-tenant': tenant.id } };
	expect((await send({ ...MAIL, scope: 'PLATFORM' }, there)).status).toBe(202);
	expect((await send(MAIL, platform)).status).toBe(202);
	expect((await send({ ...MAIL, scope: 'TENANT' }, platform)).status).toBe(202);
	const refused = await send({ ...MAIL, scope: 'PLATFORM' }, there);
	expect([refused.status, refused.body.detail]).toEqual([429, expect.stringContaining('platform’s monthly quota')]);
	expect((await send(MAIL, there)).status).toBe(202);
	expect([await used(platform), await used()]).toEqual([before + 3, 1]);
	await setCap(null, own);
});

test('80 and 100 percent are warned of once each in a month, by an audit event, a WARN line and a metric, however many callers there are', async () => {
	const metric = async (name: string): Promise<number> =>
		Number(new RegExp(`^tidings_quota_${name} (\\d+)`, 'm').exec(await api.metrics.registry.metrics())?.[1]);
	const levels = async (): Promise<number[]> => [
		await metric('warnings_total{channel="mail",level="80"}'),
		await metric('warnings_total{channel="mail",level="100"}'),
		await metric('refusals_total{channel="mail",scope="TENANT"}'),
	];
	const [at80 = 0, at100 = 0, refused = 0] = await levels();
	await setCap(50);
	await Promise.all(many(39, () => send()));
	expect(await levels()).toEqual([at80, at100, refused]);
	await send();
	expect(await levels()).toEqual([at80 + 1, at100, refused]);
	await Promise.all(many(15, () => send()));
	expect(await levels()).toEqual([at80 + 1, at100 + 1, refused + 5]);
	await setCap(60);
	await Promise.all(many(15, () => send()));
	expect(await levels()).toEqual([at80 + 1, at100 + 1, refused + 10]);

	const { body } = await api.call('/v1/audit-events?action=quota.warn', tenant.call);
	expect(body.data.map((one: { detail: { percent: string } }) => one.detail.percent).sort()).toEqual(['100', '80']);
	expect(body.data.at(-1)).toMatchObject({ actor: 'mesh', subjectId: tenant.id, detail: { channel: 'MAIL', used: '40', cap: '50' } });
	const lines = api.log.map((line) => JSON.parse(line)).filter((line) => line.tenantId === tenant.id && /monthly quota/.test(line.msg));
	expect(lines).toMatchObject([
		{ level: 'warn', percent: 80, channel: 'MAIL', used: 40, cap: 50, msg: 'monthly quota nearly used up' },
		{ level: 'warn', percent: 100, channel: 'MAIL', cap: 50, msg: 'monthly quota used up' },
	]);
});
