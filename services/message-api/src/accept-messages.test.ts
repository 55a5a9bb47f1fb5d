import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AcceptResult, type Db, type IdempotencyKey, openDb } from '@tidings/db';
import { newId } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { type Acceptor, createAcceptor } from './accept-messages.js';
import { hashOfAddress } from './checks/address.js';
import type { PendingRecord } from './flow-ids.js';

const log = createLogger({ service: 'test', level: 'silent' });
let database: TestDatabase;
let db: Db;
let acceptor: Acceptor;
let metrics: ReturnType<typeof createMetrics>;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
	metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	acceptor = createAcceptor({ pool: db.pool, log, metrics });
});
afterAll(async () => {
	await acceptor.stop();
	await db.close();
	await database.drop();
});

const tenantId = newId();
const configId = newId();
const record = (more: Partial<PendingRecord> = {}): PendingRecord => ({
	id: newId(),
	tenantId,
	channel: 'MAIL',
	route: 'mail-send',
	lane: 'normal',
	type: 'mail',
	scope: 'TENANT',
	configId,
	configTier: 'TENANT',
	metadata: {},
	traceId: 'ab'.repeat(16),
	traceparent: `00-${'ab'.repeat(16)}-${'12'.repeat(8)}-01`,
	dedupeKey: null,
	notBefore: null,
	validUntil: null,
	maxAgeSeconds: 3600,
	budgetMax: 5,
	subject: 's',
	text: 't',
	html: null,
	from: { address: 'a@example.com', name: null },
	replyTo: null,
	headers: {},
	recipients: [{ role: 'to', address: 'ann@example.com', name: null, addressHash: hashOfAddress('ann@example.com') }],
	attachments: [],
	flowId: '',
	...more,
});
const key = (name: string, body = 'b'): IdempotencyKey => ({ tenantId, operation: 'op', key: name, bodySha256: Buffer.alloc(32, body) });
const accept = async (records: readonly PendingRecord[], idempotency: IdempotencyKey | null = null, bytes = 1_000): Promise<AcceptResult> =>
	await acceptor.accept({ records, idempotency }, bytes);
const batches = async (): Promise<number> => Number(/accept_batch_records_count (\d+)/.exec(await metrics.registry.metrics())?.[1]);
const stored = async (ids: readonly string[]): Promise<number> =>
	(await db.pool.query('select from send_state s join outbox_entry e using (id) where id = any($1)', [ids])).rowCount ?? 0;

test('callers that come together share a transaction, and each is told its own ids in order', async () => {
	await accept([record()]);
	const before = await batches();
	const callers = Array.from({ length: 100 }, (_, n) => Array.from({ length: 1 + (n % 3) }, () => record()));
	const results = await Promise.all(callers.map((records) => accept(records)));
	expect(results.map((result) => result.kind === 'accepted' && result.ids)).toEqual(callers.map((records) => records.map((one) => one.id)));
	expect((await batches()) - before).toBe(1);
	expect(await stored(callers.flat().map((one) => one.id))).toBe(callers.flat().length);
});

test('a transaction is bounded in callers, rows and bytes', async () => {
	const count = async (callers: number, rows: number, bytes: number): Promise<number> => {
		const before = await batches();
		await Promise.all(
			Array.from({ length: callers }, () =>
				accept(
					Array.from({ length: rows }, () => record()),
					null,
					bytes,
				),
			),
		);
		return (await batches()) - before;
	};
	expect(await count(257, 1, 1)).toBe(2);
	expect(await count(3, 400, 1)).toBe(2);
	expect(await count(3, 1, 3_000_000)).toBe(3);
	expect(await count(2, 1, 50_000_000)).toBe(2);
});

test('one that cannot be stored is refused alone, also with those that share its batch', async () => {
	const callers = Array.from({ length: 20 }, (_, n) => [record({ subject: n === 7 ? 'a\0b' : 's' })]);
	const results = await Promise.allSettled(callers.map((records) => accept(records)));
	expect(results.flatMap((result, n) => (result.status === 'rejected' ? [n] : []))).toEqual([7]);
	expect(results[7]).toMatchObject({ reason: { code: 'internal-error', cause: { code: '22021' } } });
	expect(await stored(callers.flat().map((one) => one.id))).toBe(19);
});

test('K27 forty twins with one key make one record, whether they meet in a batch, between batches or between processes', async () => {
	const other = createAcceptor({ pool: db.pool, log, metrics });
	const twins = Array.from({ length: 40 }, () => [record()]);
	const results = await Promise.all(
		twins.map((records, n) => (n % 2 === 0 ? acceptor : other).accept({ records, idempotency: key('twins') }, 1_000)),
	);
	const kinds = results.map((result) => result.kind);
	expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(1);
	expect(new Set(kinds)).not.toContain('mismatch');
	expect(await stored(twins.flat().map((one) => one.id))).toBe(1);
	const again = await accept([record()], key('twins'));
	const first = results.find((result) => result.kind === 'accepted');
	expect(again).toEqual({ ...first, kind: 'replayed' });
	expect(await accept([record()], key('twins', 'another body'))).toEqual({ kind: 'mismatch' });
	await other.stop();
});

test('a caller whose twin is being accepted is told at once, and strangers are not held up', async () => {
	const blocker = await db.pool.connect();
	await blocker.query('begin');
	await blocker.query('lock table idempotency_key in access exclusive mode');
	const first = accept([record()], key('slow'));
	expect(await accept([record()], key('slow'))).toEqual({ kind: 'in-flight' });
	// The batch that waits for the table is one of two in flight.
	await eventually(async () => (await db.pool.query(`select from pg_locks where not granted`)).rowCount, { what: 'the first to wait' });
	expect(await accept([record()])).toMatchObject({ kind: 'accepted' });
	await blocker.query('rollback');
	blocker.release();
	expect(await first).toMatchObject({ kind: 'accepted' });
});

test('K27 a dedupe key is accepted once, also twice in one batch, and says where', async () => {
	const one = record({ dedupeKey: 'k:MAIL:x' });
	const first = await accept([one]);
	expect(first).toMatchObject({ kind: 'accepted', deduplicated: [] });
	const third = record({ dedupeKey: 'l:MAIL:x' });
	expect(await accept([record({ dedupeKey: 'k:MAIL:x' }), third, record({ dedupeKey: 'l:MAIL:x' })])).toMatchObject({
		ids: [one.id, third.id, third.id],
		deduplicated: [0, 2],
	});
});

test('publishers are told of every flow with the time when it is due', async () => {
	const listener = await db.pool.connect();
	await listener.query('listen tidings_outbox');
	let told = 0;
	listener.on('notification', () => (told += 1));
	await accept([record({ lane: 'bulk', notBefore: new Date('2999-01-01T00:00:00Z') })]);
	const next = async (): Promise<Date | null | undefined> =>
		(await db.pool.query(`select next_at from flow where tenant_id = $1 and lane = 'bulk'`, [tenantId])).rows[0]?.next_at;
	await eventually(async () => (await next())?.getUTCFullYear() === 2999, { what: 'the flow to be due when its record is' });
	await accept([record({ lane: 'bulk' })]);
	await eventually(async () => ((await next())?.getUTCFullYear() ?? 2999) < 2999, { what: 'the flow to be due now' });
	await eventually(() => told >= 2, { what: 'both notifications' });
	listener.release(true);
});

test('while the database cannot be reached callers get its error, nobody waits, and it works again afterwards', async () => {
	const away = openDb({ url: 'postgresql://nobody@127.0.0.1:1/none', name: 'test' });
	const broken = createAcceptor({ pool: away.pool, log, metrics });
	const results = await Promise.allSettled([
		broken.accept({ records: [record()], idempotency: key('away') }, 1),
		broken.accept({ records: [record()], idempotency: null }, 1),
	]);
	expect(results).toMatchObject([{ reason: { code: 'ECONNREFUSED' } }, { reason: { code: 'ECONNREFUSED' } }]);
	await expect(broken.accept({ records: [record()], idempotency: key('away') }, 1)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
	await broken.stop();
	await away.close();
});

test('more than may wait is refused at once', async () => {
	const full = createAcceptor({ pool: db.pool, log, metrics });
	const large = full.accept({ records: [record()], idempotency: null }, 200_000_000);
	await expect(full.accept({ records: [record()], idempotency: null }, 100_000_000)).rejects.toMatchObject({
		code: 'dependency-away',
		retryAfterSeconds: 1,
	});
	expect(await large).toMatchObject({ kind: 'accepted' });
	await full.stop();
});
