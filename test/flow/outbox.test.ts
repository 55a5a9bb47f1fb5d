import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Broker, type OutgoingMessage, openBroker, type PublishResult } from '@tidings/broker';
import { nextTurn, takeEntries, wakeFlows } from '@tidings/db';
import { RELAY_DEFAULTS } from '@tidings/outbox-publisher';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { startSmtpSink } from '../harness/smtp-sink.js';

let mesh: Mesh;
let sender: Sender;

beforeAll(async () => {
	mesh = await makeMesh();
	sender = await makeSender(mesh.db);
});
afterAll(() => mesh.close());

/** A broker that counts what is published, and answers as it is told. */
function scripted(
	inner: Broker,
	answer: (message: OutgoingMessage, id: string) => PublishResult | null,
): Broker & { readonly published: string[] } {
	const published: string[] = [];
	return {
		published,
		publish: async (messages) => {
			const given = messages.map((message) => {
				const id = String(JSON.parse(Buffer.from(message.payload).toString()).recordId);
				published.push(id);
				return answer(message, id);
			});
			const passed = await inner.publish(messages.filter((_, index) => given[index] === null));
			return given.map((one) => one ?? passed.shift() ?? { kind: 'away', reason: 'no answer' });
		},
		subscribe: (options) => inner.subscribe(options),
		backlog: (topic, subscription) => inner.backlog(topic, subscription),
		ensureTopics: (topics) => inner.ensureTopics(topics),
		connected: () => inner.connected(),
		on: (event, listener) => inner.on(event, listener),
		close: () => inner.close(),
	};
}

async function entryOf(id: string): Promise<{ status: string; refusals: number; heals: number } | undefined> {
	const { rows } = await mesh.db.pool.query('select status, refusals, heals from outbox_entry where id = $1', [id]);
	return rows[0];
}

async function becomes(id: string, status: string): Promise<void> {
	await eventually(async () => (await entryOf(id))?.status === status, { what: `entry ${id} to be ${status}`, within: 15_000 });
}

/** Makes an entry due now and tells the publishers. */
async function dueNow(id: string): Promise<void> {
	const { rows } = await mesh.db.pool.query('update outbox_entry set due_at = now() where id = $1 returning flow_id', [id]);
	await wakeFlows(mesh.db.pool, [{ flowId: rows[0].flow_id, dueAt: null }]);
}

async function accept(from: Sender = sender): Promise<string> {
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(from)]);
	return id;
}

test('when all flows sleep there is no next turn, and a relay that is woken has nothing to hurry for', async () => {
	expect(await nextTurn(mesh.db.pool)).toBeNull();
	await accept();
	await mesh.db.pool.query(`update flow set next_at = now() + interval '1 minute'`);
	expect(await nextTurn(mesh.db.pool)).toBeGreaterThan(30_000);
	await mesh.db.pool.query('update flow set next_at = now()');
	expect(await nextTurn(mesh.db.pool)).toBe(0);
	await mesh.db.pool.query('delete from outbox_entry');
});

test('a refusal that the broker repeats while it confirms others ends DEAD with the tenth, and is said aloud', async () => {
	const poor = await accept();
	const broker = scripted(mesh.broker, (_, id) => (id === poor ? { kind: 'refused', reason: 'not this one' } : null));
	const publisher = await mesh.publish({ broker });
	for (let refusals = 1; refusals <= 10; refusals += 1) {
		await becomes(await accept(), 'PUBLISHED');
		await dueNow(poor);
		await eventually(async () => ((await entryOf(poor))?.refusals ?? 0) >= refusals, { what: `${refusals} refusals` });
	}
	expect(await entryOf(poor)).toMatchObject({ status: 'DEAD', refusals: 10 });
	expect(mesh.lines.filter((line) => line.recordId === poor && line.level === 'error')).toHaveLength(1);
	await publisher.stop();
});

test('F11 an outage counts against no entry: it waits as NEW, one warning tells of the route, and it is published when the broker is back', async () => {
	let away = true;
	const warnings = () =>
		mesh.lines.filter((line) => line.route === 'mail-send' && line.level === 'warn' && String(line.msg).includes('wait')).length;
	const before = warnings();
	const broker = scripted(mesh.broker, () => (away ? { kind: 'away', reason: 'nobody answers' } : null));
	const publisher = await mesh.publish({ broker });
	const ids = [await accept(), await accept(), await accept()];
	await eventually(() => ids.every((id) => broker.published.includes(id)), { what: 'a try at each' });
	for (const id of ids) {
		await becomes(id, 'NEW');
		expect(await entryOf(id)).toMatchObject({ refusals: 0 });
	}
	await dueNow(ids[0] ?? '');
	await eventually(() => broker.published.length > 3, { what: 'another try' });
	expect(warnings() - before).toBe(1);
	away = false;
	for (const id of ids) {
		await dueNow(id);
		await becomes(id, 'PUBLISHED');
	}
	await publisher.stop();
});

test('a refusal by a broker that confirms nothing counts as an outage', async () => {
	const id = await accept();
	const broker = scripted(mesh.broker, () => ({ kind: 'refused', reason: 'everything is too much' }));
	const publisher = await mesh.publish({ broker });
	await eventually(() => broker.published.includes(id), { what: 'a try' });
	await becomes(id, 'NEW');
	expect(await entryOf(id)).toMatchObject({ refusals: 0 });
	await publisher.stop();
});

test('a route without a topic leaves its entries NEW, and one warning names it', async () => {
	const id = await accept();
	const before = mesh.lines.length;
	const broker = scripted(mesh.broker, () => ({ kind: 'no-topic' }));
	const publisher = await mesh.publish({ broker });
	await eventually(() => broker.published.includes(id), { what: 'a try' });
	await becomes(id, 'NEW');
	await dueNow(id);
	await eventually(() => broker.published.filter((one) => one === id).length > 1, { what: 'another try' });
	await publisher.stop();
	const warnings = mesh.lines.slice(before).filter((line) => String(line.reason).includes('does not exist'));
	expect(warnings).toEqual([expect.objectContaining({ level: 'warn', route: 'mail-send' })]);
});

test('F3 an entry whose publisher died is published by another when its lease is over', async () => {
	const id = await accept();
	await mesh.db.pool.query('update flow set next_at = now()');
	const taken = await takeEntries(mesh.db.pool, { ...RELAY_DEFAULTS, leaseSeconds: 0 });
	expect(taken.map((entry) => entry.id)).toContain(id);
	const publisher = await mesh.publish();
	await becomes(id, 'PUBLISHED');
	await publisher.stop();
});

test('K24 a published entry that nobody claims is healed: published again, with twice the patience', async () => {
	const publisher = await mesh.publish({ healSeconds: 0.05 });
	const id = await accept();
	await eventually(async () => ((await entryOf(id))?.heals ?? 0) >= 2, { what: 'two healings' });
	await publisher.stop();
});

test('a broker that lost everything: what was PUBLISHED is published again at once, and no healing is counted', async () => {
	const first = await mesh.publish();
	const id = await accept();
	await becomes(id, 'PUBLISHED');
	await first.stop();
	const fresh = scripted(await openBroker({ url: 'embedded:', namespace: 'public/default' }), () => null);
	const second = await mesh.publish({ broker: fresh });
	await eventually(() => fresh.published.includes(id), { what: 'a second publish' });
	await becomes(id, 'PUBLISHED');
	const { heals } = (await entryOf(id)) ?? { heals: -1 };
	expect(heals).toBe(0);
	await second.stop();
	await fresh.close();
});

test('nothing behind a closed gate is published; when it opens, its entries go out', async () => {
	const gated = await makeSender(mesh.db);
	await mesh.db.pool.query(`update gate set closed_until = now() + interval '1 hour', reason = 'PAUSED' where id = $1`, [gated.configId]);
	const broker = scripted(mesh.broker, () => null);
	const publisher = await mesh.publish({ broker });
	const behind = await accept(gated);
	for (let n = 0; n < 20; n += 1) await becomes(await accept(), 'PUBLISHED');
	expect(broker.published).not.toContain(behind);
	expect(await entryOf(behind)).toMatchObject({ status: 'NEW' });
	await mesh.db.pool.query('update gate set closed_until = null, reason = null where id = $1', [gated.configId]);
	await dueNow(behind);
	await becomes(behind, 'PUBLISHED');
	await publisher.stop();
});

test('F34 K36 three publishers publish each entry once, and never more of a flow than its window', async () => {
	const own = await makeSender(mesh.db);
	const broker = scripted(mesh.broker, () => null);
	const relay = { ...RELAY_DEFAULTS, window: 50 };
	const publishers = await Promise.all([1, 2, 3].map(() => mesh.publish({ broker, relay })));
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: 400 }, () => newRecord(own)),
	);
	await wakeAll();
	await eventually(() => ids.filter((id) => broker.published.includes(id)).length === 50, { what: 'the window to be full' });
	// Whoever claims makes room: here the claims are played by removing what is out.
	for (let out = 50; out < 400; ) {
		await mesh.db.pool.query('delete from outbox_entry where taken and tenant_id = $1 and status = $2', [own.tenantId, 'PUBLISHED']);
		await wakeAll();
		const { rows } = await mesh.db.pool.query('select count(*)::int as n from outbox_entry where taken and tenant_id = $1', [own.tenantId]);
		expect(rows[0].n).toBeLessThanOrEqual(50);
		out = ids.filter((id) => broker.published.includes(id)).length;
	}
	await eventually(() => ids.every((id) => broker.published.includes(id)), { what: 'everything to be published' });
	expect(broker.published.filter((id) => ids.includes(id))).toHaveLength(400);
	for (const publisher of publishers) await publisher.stop();

	async function wakeAll(): Promise<void> {
		const { rows } = await mesh.db.pool.query('select id from flow where tenant_id = $1', [own.tenantId]);
		await wakeFlows(
			mesh.db.pool,
			rows.map((row) => ({ flowId: row.id, dueAt: null })),
		);
	}
});

test('F37 beside a tenant with 100,000 queued mails and a server that hangs, the first mail of another tenant is published at once and sent', async () => {
	const [dead, alive] = [await startSmtpSink(), await startSmtpSink()];
	const hang = dead.script({ stage: 'CONN', answer: { kind: 'hang' } });
	const noisy = await makeSender(mesh.db, { host: dead.host, port: dead.port });
	const quiet = await makeSender(mesh.db, { host: alive.host, port: alive.port });
	for (let n = 0; n < 100; n += 1)
		await acceptRecords(
			mesh.db,
			Array.from({ length: 1_000 }, () => newRecord(noisy)),
		);
	const publisher = await mesh.publish();
	const mailSender = await mesh.send({ readSeconds: 600, deadlineSeconds: 600, leaseSeconds: 900 });
	await mesh.db.pool.query('update flow set next_at = now() where tenant_id = $1', [noisy.tenantId]);
	await hang.met(20);
	const id = await accept(quiet);
	await wakeFlows(mesh.db.pool, [
		{ flowId: (await mesh.db.pool.query('select flow_id from send_record where id = $1', [id])).rows[0].flow_id, dueAt: null },
	]);
	await eventually(() => alive.mails.length === 1, { what: "the quiet tenant's mail" });
	const { rows } = await mesh.db.pool.query(
		`select count(*) filter (where taken)::int as out, count(*)::int as entries from outbox_entry where tenant_id = $1`,
		[noisy.tenantId],
	);
	expect(rows[0].out).toBeLessThanOrEqual(200);
	expect(rows[0].entries).toBeGreaterThan(99_000);
	await publisher.stop();
	hang.release();
	await dead.close();
	await mailSender.stop();
	await alive.close();
}, 120_000);
