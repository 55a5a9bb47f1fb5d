import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
	cancelWaiting,
	claimRecords,
	type Db,
	eraseBatch,
	healEntries,
	markPublished,
	measureOutbox,
	moveTenant,
	openDb,
	RECORD_TABLES,
	reopenEntries,
	settleRecords,
	type TakenEntry,
	TENANT_TABLES,
	takeEntries,
	wakeFlows,
	wakeSleepingFlows,
} from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase, type TestDatabase } from '../harness/database.js';
import { acceptRecords, makeSender, newRecord, type Sender, settlementOf } from '../harness/records.js';

let database: TestDatabase;
let db: Db;
let halted: Sender;
let other: Sender;
beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
});
beforeEach(async () => {
	await db.pool.query('truncate outbox_entry, flow, send_state, send_record, send_payload, send_recipient');
	[halted, other] = [await makeSender(db), await makeSender(db)];
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

const SHARES = { shares: { urgent: 100, normal: 100, bulk: 100 }, window: 200, leaseSeconds: 30 };

async function wakeAll(): Promise<void> {
	const { rows } = await db.pool.query<{ id: string }>('select id from flow');
	await wakeFlows(
		db.pool,
		rows.map(({ id }) => ({ flowId: id, dueAt: null })),
	);
}

async function take(): Promise<TakenEntry[]> {
	await wakeAll();
	return await takeEntries(db.pool, SHARES);
}

async function publish(): Promise<TakenEntry[]> {
	const taken = await take();
	const [first] = taken;
	if (first !== undefined) await markPublished(db.pool, { ids: taken.map((one) => one.id), lease: first.lease }, 600);
	return taken;
}

async function claim(ids: readonly string[], { tenantId, configId }: Sender): Promise<string[]> {
	const keys = ids.map((recordId) => ({ recordId, tenantId, configId }));
	const { claimed } = await claimRecords(db.pool, keys, {
		channel: 'MAIL',
		route: 'mail-send',
		leaseSeconds: 120,
		worker: 'w',
		claim: newId(),
	});
	return claimed.map((one) => one.id).sort();
}

async function accept(sender: Sender, count = 1): Promise<string[]> {
	const ids = await acceptRecords(
		db,
		Array.from({ length: count }, () => newRecord(sender)),
	);
	return ids.sort();
}

const suspend = async (): Promise<boolean> => await moveTenant(db.pool, halted.tenantId, { act: 'suspend' });
const startDeleting = async (queued: 'deliver' | 'cancel'): Promise<boolean> =>
	await moveTenant(db.pool, halted.tenantId, { act: 'delete', queued });

async function statusesOf(ids: readonly string[], table: 'send_state' | 'outbox_entry'): Promise<string[]> {
	const { rows } = await db.pool.query<{ status: string }>(`select distinct status from ${table} where id = any($1)`, [ids]);
	return rows.map((row) => row.status);
}

test('nothing of a suspended tenant is taken, its flow rests for an hour, and nobody wakes it; another tenant’s mail goes on', async () => {
	const [mine, theirs] = [await accept(halted), await accept(other)];
	await suspend();
	expect((await take()).map((one) => one.id)).toEqual(theirs);
	const { rows } = await db.pool.query(`select next_at > now() + interval '59 minutes' as rests from flow where tenant_id = $1`, [
		halted.tenantId,
	]);
	expect(rows).toEqual([{ rests: true }]);
	expect(await wakeSleepingFlows(db.pool)).toBe(0);
	expect(await statusesOf(mine, 'outbox_entry')).toEqual(['NEW']);
});

test('a message of a suspended tenant claims nothing, in the same statement in which another’s is claimed', async () => {
	const [mine, theirs] = [await accept(halted), await accept(other)];
	await publish();
	await suspend();
	const keys = [
		{ recordId: mine[0] ?? '', tenantId: halted.tenantId, configId: halted.configId },
		{ recordId: theirs[0] ?? '', tenantId: other.tenantId, configId: other.configId },
	];
	const { claimed, expired } = await claimRecords(db.pool, keys, {
		channel: 'MAIL',
		route: 'mail-send',
		leaseSeconds: 120,
		worker: 'w',
		claim: newId(),
	});
	expect([claimed.map((one) => one.id), expired]).toEqual([theirs, []]);
	expect([await statusesOf(mine, 'send_state'), await statusesOf(mine, 'outbox_entry')]).toEqual([['PENDING'], ['PUBLISHED']]);
});

test('what was claimed before the suspension is settled as ever, also when the answer to the claim was lost', async () => {
	const ids = await accept(halted, 2);
	await publish();
	const keys = ids.map((recordId) => ({ recordId, tenantId: halted.tenantId, configId: halted.configId }));
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'w', claim: newId() } as const;
	await claimRecords(db.pool, keys, claimant);
	await suspend();
	const { claimed } = await claimRecords(db.pool, keys, claimant);
	expect(claimed.map((one) => one.id).sort()).toEqual(ids);
	const [sent, put] = claimed;
	if (sent === undefined || put === undefined) throw new Error('two were claimed');
	expect(await settleRecords(db.pool, [settlementOf(sent), settlementOf(put, 'RETRY')])).toHaveLength(2);
	expect(await take()).toEqual([]);
	expect(await claim([put.id], halted)).toEqual([]);
});

test('whoever resumes has all of it published again at once, also what a slow publisher still has in its hands', async () => {
	const ids = await accept(halted, 3);
	const slow = await take();
	expect(slow.map((one) => one.id).sort()).toEqual(ids);
	await suspend();
	expect(await moveTenant(db.pool, halted.tenantId, { act: 'resume' })).toBe(true);
	expect(await reopenEntries(db.pool, halted.tenantId)).toHaveLength(1);
	await markPublished(db.pool, { ids, lease: slow[0]?.lease ?? '' }, 600);
	expect(await statusesOf(ids, 'outbox_entry')).toEqual(['NEW']);
	expect((await publish()).map((one) => one.id).sort()).toEqual(ids);
	expect(await claim(ids, halted)).toEqual(ids);
	expect(await healEntries(db.pool, 10)).toEqual([]);
});

test('resuming one tenant leaves the entries of another as they are', async () => {
	const theirs = await accept(other);
	await publish();
	await suspend();
	await moveTenant(db.pool, halted.tenantId, { act: 'resume' });
	await reopenEntries(db.pool, halted.tenantId);
	expect(await statusesOf(theirs, 'outbox_entry')).toEqual(['PUBLISHED']);
});

test('what a suspended tenant keeps waiting is counted but is not late', async () => {
	await accept(halted);
	await db.pool.query(`update outbox_entry set due_at = now() - interval '1 day'`);
	expect((await measureOutbox(db.pool)).queues[0]?.oldestSeconds).toBeGreaterThan(80_000);
	await suspend();
	const measures = await measureOutbox(db.pool);
	expect(measures.queues).toEqual([]);
	expect(measures.entries).toEqual([{ route: 'mail-send', status: 'NEW', count: 1, oldestDueSeconds: 0 }]);
});

test('a tenant that is deleted with deliver goes on sending; with cancel nothing more goes out and what waits is cancelled', async () => {
	const ids = await accept(halted, 5);
	await startDeleting('deliver');
	expect((await publish()).map((one) => one.id).sort()).toEqual(ids);
	const [sending = '', ...waiting] = ids;
	expect(await claim([sending], halted)).toEqual([sending]);
	await moveTenant(db.pool, halted.tenantId, { act: 'resume' });
	await startDeleting('cancel');
	const late = await accept(halted);
	const theirs = await accept(other);
	expect((await take()).map((one) => one.id)).toEqual(theirs);
	expect(await claim(waiting, halted)).toEqual([]);
	// A dead entry belongs to a record that waits, too.
	await db.pool.query(
		`begin; set local session_replication_role = replica; update outbox_entry set status = 'DEAD', taken = null where id = '${late[0]}'; commit`,
	);
	expect(await eraseBatch(db.pool, halted.tenantId, 0)).toBe('waiting');
	expect(await cancelWaiting(db.pool, halted.tenantId, 500)).toBe(5);
	expect(await cancelWaiting(db.pool, halted.tenantId, 500)).toBe(0);
	const { rows } = await db.pool.query('select distinct status, reason from send_state where id = any($1)', [[...waiting, ...late]]);
	expect(rows).toEqual([{ status: 'CANCELLED', reason: 'tenant deleted' }]);
	expect([await statusesOf([sending], 'send_state'), await statusesOf(theirs, 'send_state')]).toEqual([['SENDING'], ['PENDING']]);
	const left = await db.pool.query('select id from outbox_entry');
	expect(left.rows.map((row) => row.id)).toEqual(theirs);
});

test('nothing is erased while something waits or is sent, while the deletion is young, or while another publisher is at it', async () => {
	const [id = ''] = await accept(halted);
	await publish();
	const erase = async (grace = 0): Promise<string> => await eraseBatch(db.pool, halted.tenantId, grace);
	expect(await erase()).toBe('waiting');
	await startDeleting('deliver');
	expect(await erase()).toBe('waiting');
	const keys = [{ recordId: id, tenantId: halted.tenantId, configId: halted.configId }];
	const { claimed } = await claimRecords(db.pool, keys, {
		channel: 'MAIL',
		route: 'mail-send',
		leaseSeconds: 120,
		worker: 'w',
		claim: newId(),
	});
	expect(await erase()).toBe('waiting');
	for (const one of claimed) await settleRecords(db.pool, [settlementOf(one)]);
	expect(await erase(60)).toBe('waiting');
	const client = await db.pool.connect();
	await client.query('begin');
	await client.query('select from tenant where id = $1 for no key update', [halted.tenantId]);
	expect(await erase()).toBe('waiting');
	await client.query('rollback');
	client.release();
	expect(await erase()).toBe('more');
	expect(await moveTenant(db.pool, halted.tenantId, { act: 'resume' })).toBe(false);
	let state = 'more';
	while (state === 'more') state = await erase();
	expect(state).toBe('done');
	expect(await erase()).toBe('waiting');
	const { rows } = await db.pool.query('select status, settings, queued, erasing_at from tenant where id = $1', [halted.tenantId]);
	expect(rows).toEqual([{ status: 'DELETED', settings: {}, queued: null, erasing_at: null }]);
	const audit = await db.pool.query('select actor, action from audit_event where tenant_id = $1', [halted.tenantId]);
	expect(audit.rows).toEqual([{ actor: 'mesh', action: 'tenant.erase' }]);
});

test('a record that a person had sent again while the erasing went on is sent first, and erased then', async () => {
	const [id = ''] = await accept(halted);
	await publish();
	await startDeleting('deliver');
	await db.pool.query('update tenant set erasing_at = now() where id = $1', [halted.tenantId]);
	expect(await eraseBatch(db.pool, halted.tenantId, 0)).toBe('waiting');
	expect(await claim([id], halted)).toEqual([id]);
	expect(await eraseBatch(db.pool, halted.tenantId, 0)).toBe('waiting');
	const { rows } = await db.pool.query('select (select count(*)::int from mail_send_server_config where tenant_id = $1) as servers', [
		halted.tenantId,
	]);
	expect(rows).toEqual([{ servers: 1 }]);
});

test('every table that has a tenant is erased, but for its audit events', async () => {
	const { rows } = await db.pool.query<{ name: string }>(
		`select c.table_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
		where c.table_schema = 'public' and c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE'`,
	);
	expect(rows.map((row) => row.name).sort()).toEqual([...RECORD_TABLES, ...TENANT_TABLES, 'audit_event'].sort());
});
