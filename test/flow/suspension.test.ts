import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { topicsOf } from '@tidings/model';
import { startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { brokenPromises } from '../harness/invariants.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import type { LogLine } from '../harness/mesh-process.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { act, arrivedOf, isSettled, makeTenant, statesOf, type TestTenant } from './tenant-kit.js';

let mesh: Mesh;
let sink: SmtpSink;
let api: TestApi;
let senders: Running;
const tenants: TestTenant[] = [];

/** About two hundred mails a second of each tenant: slow enough that something waits. */
const SLOW = { slots: 10 };

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink({ thinkMs: 50 });
	api = await startApi({ databaseUrl: mesh.url });
	await mesh.publish();
	await mesh.publish();
	senders = await mesh.send(SLOW);
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
	await sink.close();
});

async function newTenant(): Promise<TestTenant> {
	const tenant = await makeTenant(mesh.db, api, sink);
	tenants.push(tenant);
	return tenant;
}

async function allSent(tenant: TestTenant): Promise<void> {
	const sent = async (): Promise<boolean> => (await statesOf(mesh.db, tenant))['SENT'] === tenant.answered.length;
	await eventually(sent, { what: 'everything accepted to be SENT', within: 30_000 });
}

async function holdsAll(): Promise<void> {
	const answered = tenants.flatMap((one) => one.answered);
	expect(await brokenPromises({ db: mesh.db, answered, mails: sink.mails, lines: mesh.lines as readonly LogLine[], secrets: [] })).toEqual(
		[],
	);
}

test('a tenant that is suspended under load sends nothing more once that has settled, others flow on, and after it is resumed everything accepted is sent once', async () => {
	const [halted, other] = [await newTenant(), await newTenant()];
	await halted.submit(200);
	const loads = [halted.load(20), other.load(10, 100)];
	await eventually(() => arrivedOf(sink, halted) > 20, { what: 'the first mails to arrive', within: 30_000 });
	expect((await act(api, halted, ':suspend')).status).toBe(200);
	await eventually(() => isSettled(mesh.db, halted), { what: 'what was being sent to end', within: 30_000 });
	const arrived = arrivedOf(sink, halted);
	const theirs = arrivedOf(sink, other);
	await eventually(() => arrivedOf(sink, other) > theirs + 40, { what: 'the other tenant’s mails to arrive', within: 30_000 });
	const [met, metByOther] = [await loads[0]?.stop(), await loads[1]?.stop()];
	expect([[...(met ?? [])].sort(), [...(metByOther ?? [])]]).toEqual([[202, 403], [202]]);
	await allSent(other);
	expect(arrivedOf(sink, halted)).toBe(arrived);
	const states = await statesOf(mesh.db, halted);
	expect(states).toEqual({ SENT: arrived, PENDING: halted.answered.length - arrived });
	expect(states['PENDING']).toBeGreaterThan(0);
	expect((await act(api, halted, ':resume')).status).toBe(200);
	expect(await halted.submit(1)).toBe(202);
	await allSent(halted);
	expect(arrivedOf(sink, halted)).toBe(halted.answered.length);
	await holdsAll();
}, 120_000);

test('what was PUBLISHED when the tenant was suspended, and taken for stale since, comes out right after it is resumed', async () => {
	const halted = await newTenant();
	await senders.stop();
	await halted.submit(100);
	const published = async (): Promise<boolean> => {
		const { rows } = await mesh.db.pool.query(`select count(*)::int as n from outbox_entry where tenant_id = $1 and status = 'PUBLISHED'`, [
			halted.tenantId,
		]);
		return rows[0].n === 100;
	};
	await eventually(published, { what: 'all entries to be PUBLISHED', within: 30_000 });
	await act(api, halted, ':suspend');
	senders = await mesh.send(SLOW);
	for (const { topic, subscription } of topicsOf('mail-send'))
		await eventually(async () => (await mesh.broker.backlog(topic, subscription)) === 0, {
			what: `${topic} to be drained`,
			within: 30_000,
		});
	expect([await statesOf(mesh.db, halted), arrivedOf(sink, halted)]).toEqual([{ PENDING: 100 }, 0]);
	await act(api, halted, ':resume');
	await allSent(halted);
	expect(arrivedOf(sink, halted)).toBe(100);
	await holdsAll();
}, 120_000);

test('a retry that is settled while the tenant is suspended waits for it to be resumed', async () => {
	const halted = await newTenant();
	const hang = sink.script({ stage: 'RCPT', to: `${halted.tenantId}@example.com`, times: 1, answer: { kind: 'hang' } });
	await halted.submit(1);
	await hang.met();
	await act(api, halted, ':suspend');
	const refuse = sink.script({ stage: 'DATA', times: 1, answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0' } });
	hang.release();
	await refuse.met();
	await eventually(async () => (await statesOf(mesh.db, halted))['RETRY'] === 1, { what: 'the record to be RETRY', within: 30_000 });
	const [id = ''] = halted.answered;
	const { status } = await api.call(`/v1/messages/${id}:retry`, { key: halted.key, body: {} });
	expect(status).toBe(200);
	const other = await newTenant();
	await other.submit(20);
	await allSent(other);
	expect([await statesOf(mesh.db, halted), arrivedOf(sink, halted)]).toEqual([{ RETRY: 1 }, 0]);
	await act(api, halted, ':resume');
	await allSent(halted);
	expect(arrivedOf(sink, halted)).toBe(1);
	await holdsAll();
}, 120_000);
