import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Db } from '@tidings/db';
import { type Answer, startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { brokenPromises } from '../harness/invariants.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { act, arrivedOf, isSettled, makeTenant, statesOf, type TestTenant } from './tenant-kit.js';

let mesh: Mesh;
let sink: SmtpSink;
let api: TestApi;

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink({ thinkMs: 50 });
	api = await startApi({ databaseUrl: mesh.url });
	await mesh.publish({ eraseGraceSeconds: 0 });
	await mesh.publish({ eraseGraceSeconds: 0 });
	await mesh.send({ slots: 10 });
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
	await sink.close();
});

const newTenant = async (): Promise<TestTenant> => await makeTenant(mesh.db, api, sink);
const count = (tenant: TestTenant, status: string) => async (): Promise<boolean> =>
	(await statesOf(mesh.db, tenant))[status] === tenant.answered.length;

async function readTenant({ tenantId }: TestTenant): Promise<Answer['body']> {
	return (await api.call(`/v1/tenants/${tenantId}`, { key: api.platformKey })).body;
}

async function isErased(tenant: TestTenant): Promise<void> {
	await eventually(async () => (await readTenant(tenant)).status === 'DELETED', { what: 'the tenant to be DELETED', within: 30_000 });
}

/** Every row of a tenant, by table; a table without any is left out. */
async function rowsOf(db: Db, { tenantId }: TestTenant): Promise<Record<string, readonly string[]>> {
	const { rows } = await db.pool.query<{ name: string }>(
		`select c.table_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
		where c.table_schema = 'public' and c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE' order by 1`,
	);
	const found: [string, readonly string[]][] = [];
	for (const { name } of rows) {
		const { rows: own } = await db.pool.query<{ row: string }>(
			`select md5(to_jsonb(x)::text) as row from ${name} x where tenant_id = $1 order by 1`,
			[tenantId],
		);
		if (own.length > 0) found.push([name, own.map(({ row }) => row)]);
	}
	return Object.fromEntries(found);
}

/** Gives a tenant something in every table: a quota, attachments, dedupe keys, a failed and a held message with their letters. */
async function fill(tenant: TestTenant): Promise<void> {
	const quota = { key: api.platformKey, method: 'PUT', headers: { 'if-match': '*' }, body: { mailMonthly: 1_000 } };
	expect((await api.call(`/v1/tenants/${tenant.tenantId}/quota`, quota)).status).toBe(200);
	const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }];
	expect(await tenant.submit(1, { attachments, dedupeKey: 'a' })).toBe(202);
	await mesh.db.pool.query(`update mail_send_server_config set on_ambiguous = 'hold' where tenant_id = $1`, [tenant.tenantId]);
	await eventually(count(tenant, 'SENT'), { what: 'the first mail to be SENT', within: 30_000 });
	const cut = sink.script({ stage: 'DOT', to: `${tenant.tenantId}@example.com`, times: 1, answer: { kind: 'close', kept: false } });
	await tenant.submit(1);
	await cut.met();
	await eventually(async () => (await statesOf(mesh.db, tenant))['HELD'] === 1, { what: 'a mail to be HELD', within: 30_000 });
}

test('tenants that are deleted under load: with deliver all arrives, with cancel nothing more goes out; then nothing is left of them, and others are as they were', async () => {
	const [quiet, busy, delivered, cancelled] = [await newTenant(), await newTenant(), await newTenant(), await newTenant()];
	for (const tenant of [quiet, delivered, cancelled]) await fill(tenant);
	const before = await rowsOf(mesh.db, quiet);
	expect(Object.keys(before)).toEqual(
		expect.arrayContaining([
			'attachment',
			'dead_letter_message',
			'dedupe_key',
			'idempotency_key',
			'delivery_attempt',
			'flow',
			'gate',
			'tenant_message_quota',
			'tenant_message_usage',
		]),
	);
	const load = busy.load(10, 100);
	await Promise.all([delivered.submit(200), cancelled.submit(300)]);
	expect(await act(api, delivered, '')).toMatchObject({ status: 202, body: { status: 'DELETING', queued: 'deliver' } });
	expect((await act(api, cancelled, '?queued=cancel')).status).toBe(202);
	expect(await delivered.submit(1)).toBe(403);
	await eventually(async () => (await readTenant(cancelled)).status === 'DELETED' || (await isSettled(mesh.db, cancelled)), {
		what: 'what was being sent to end',
		within: 30_000,
	});
	const arrived = arrivedOf(sink, cancelled);
	expect(arrived).toBeLessThan(cancelled.answered.length);
	await Promise.all([isErased(delivered), isErased(cancelled)]);
	// The held one never arrived, and did not hold the deletion up.
	expect(arrivedOf(sink, delivered)).toBe(delivered.answered.length - 1);
	expect(arrivedOf(sink, cancelled)).toBe(arrived);
	for (const tenant of [delivered, cancelled]) expect(Object.keys(await rowsOf(mesh.db, tenant))).toEqual(['audit_event']);
	expect(await rowsOf(mesh.db, quiet)).toEqual(before);
	expect([...(await load.stop())]).toEqual([202]);
	await eventually(count(busy, 'SENT'), { what: 'the other tenant’s mails to be SENT', within: 30_000 });
	expect(arrivedOf(sink, busy)).toBe(busy.answered.length);
	const mails = sink.mails.filter((mail) => busy.answered.some((id) => mail.messageId.includes(id)));
	const broken = await brokenPromises({ db: mesh.db, answered: busy.answered, mails, lines: [], secrets: [] });
	expect(broken.filter((one) => !quiet.answered.some((id) => one.includes(id)))).toEqual([]);
}, 120_000);

test('a deleted tenant stays to be seen, its keys and its name in a header open nothing, and its name is free', async () => {
	const tenant = await newTenant();
	const { name } = await readTenant(tenant);
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.tenantId } };
	await act(api, tenant, '');
	await isErased(tenant);
	expect(await readTenant(tenant)).toMatchObject({ name, status: 'DELETED', queued: null, settings: { maxAgeHours: null } });
	expect((await api.call('/v1/messages', { key: tenant.key })).status).toBe(401);
	expect((await api.call('/v1/messages', there)).status).toBe(404);
	expect((await act(api, tenant, ':resume')).body.detail).toContain('DELETED');
	expect((await act(api, tenant, '')).status).toBe(409);
	const change = { method: 'PATCH', headers: { 'if-match': '*' }, body: { name: 'x' } };
	expect((await api.call(`/v1/tenants/${tenant.tenantId}`, { key: api.platformKey, ...change })).status).toBe(409);
	const list = async (query: string): Promise<string[]> =>
		(await api.call(`/v1/tenants?limit=200${query}`, { key: api.platformKey })).body.data.map((row: { id: string }) => row.id);
	expect(await list('')).not.toContain(tenant.tenantId);
	expect(await list('&status=DELETED')).toContain(tenant.tenantId);
	expect((await api.call('/v1/tenants', { key: api.platformKey, body: { name } })).status).toBe(201);
}, 120_000);
