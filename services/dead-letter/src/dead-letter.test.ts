import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Broker, deadLetterTopicOf } from '@tidings/broker';
import { openDb } from '@tidings/db';
import { encodeEnvelope, newId } from '@tidings/model';
import { startParts, stopParts } from '@tidings/runtime';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { eventually } from '../../../test/harness/eventually.js';
import { type Mesh, makeMesh } from '../../../test/harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../../../test/harness/records.js';
import { type DeadLetterOptions, deadLetterParts } from './parts.js';

const TOPIC = 'mail-send-normal';
const PLACE = { topic: deadLetterTopicOf(TOPIC), subscription: 'dead-letter' };

let mesh: Mesh;
let sender: Sender;
let platformId: string;

beforeAll(async () => {
	mesh = await makeMesh();
	sender = await makeSender(mesh.db);
	platformId = newId();
	await mesh.db.prisma.tenant.create({ data: { id: platformId, name: 'Platform', kind: 'PLATFORM' } });
	await mesh.broker.ensureTopics([PLACE]);
});
beforeEach(() => mesh.db.pool.query('delete from dead_letter_message'));
afterAll(() => mesh.close());

type Letter = Record<
	'tenant_id' | 'source' | 'status' | 'record_id' | 'channel' | 'type' | 'topic' | 'message_id' | 'error' | 'envelope',
	string
>;

async function letters(): Promise<Letter[]> {
	return (await mesh.db.pool.query<Letter>('select * from dead_letter_message order by message_id')).rows;
}

/** Puts messages on the dead-letter topic as the broker does when it gives up. */
async function bury(...payloads: readonly (Uint8Array | string)[]): Promise<void> {
	const messages = payloads.map((payload, n) =>
		message(payload, { REAL_TOPIC: `persistent://public/default/${TOPIC}`, ORIGIN_MESSAGE_ID: `m${n}` }),
	);
	await publish(...messages);
}

function message(payload: Uint8Array | string, properties: Record<string, string> = {}) {
	return { topic: PLACE.topic, payload: Buffer.from(payload), properties };
}

async function publish(...messages: readonly ReturnType<typeof message>[]): Promise<void> {
	for (const result of await mesh.broker.publish(messages)) expect(result.kind).toBe('confirmed');
}

/** Resolves when the topic is empty: everything is archived and acked. */
async function emptied(): Promise<void> {
	await eventually(async () => (await mesh.broker.backlog(PLACE.topic, PLACE.subscription)) === 0, { what: 'an empty dead-letter topic' });
}

async function acceptOne(): Promise<string> {
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(sender, { type: 'order.confirmed' })]);
	return id;
}

const envelopeOf = (recordId: string, tenantId = sender.tenantId): Buffer =>
	encodeEnvelope({ recordId, tenantId, traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });

/** The service with its health to be asked, and with parts of its own where they are given. */
async function start(change: Partial<DeadLetterOptions> = {}) {
	const lines: Record<string, unknown>[] = [];
	const log = createLogger({ service: 'test', level: 'info', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const parts = deadLetterParts({ db: mesh.db, databaseUrl: mesh.url, broker: mesh.broker, log, metrics, ...change });
	const running = await startParts(parts, { log });
	return {
		lines,
		metrics,
		/** Reasons why it is not well. */
		faults: async (): Promise<string[]> =>
			(await Promise.allSettled(parts.map((part) => part.health?.()))).flatMap((one) =>
				one.status === 'rejected' ? [String(one.reason)] : [],
			),
		stop: () => stopParts(running, { log, deadlineSeconds: 10 }),
	};
}

test('F15 what the broker gave up on becomes a letter of its tenant with origin, reason and envelope; the record stays as it is', async () => {
	const id = await acceptOne();
	const service = await start();
	await bury(envelopeOf(id));
	await emptied();
	expect(await letters()).toMatchObject([
		{
			tenant_id: sender.tenantId,
			source: 'BROKER_POISON',
			status: 'PENDING',
			record_id: id,
			channel: 'MAIL',
			type: 'order.confirmed',
			topic: TOPIC,
			message_id: 'm0',
			error: 'the broker gave up after 21 deliveries',
			envelope: envelopeOf(id).toString(),
		},
	]);
	expect((await mesh.db.pool.query('select status, version from send_state where id = $1', [id])).rows).toEqual([
		{ status: 'PENDING', version: 0 },
	]);
	expect(await service.metrics.registry.metrics()).toContain('tidings_dead_letters_total{source="BROKER_POISON",channel="mail"} 1');
	await service.stop();
});

test('a message that comes again, here or at another archiver, is archived once', async () => {
	const services = [await start(), await start()];
	const payloads = Array.from({ length: 30 }, (_, n) => `poison ${n}`);
	for (let round = 0; round < 5; round++) await bury(...payloads);
	await emptied();
	expect((await letters()).map((one) => one.envelope).sort()).toEqual([...payloads].sort());
	for (const service of services) await service.stop();
	const counted = await Promise.all(services.map((one) => one.metrics.registry.getSingleMetric('tidings_dead_letters_total')?.get()));
	const total = counted.flatMap((one) => one?.values ?? []).reduce((sum, one) => sum + one.value, 0);
	expect(total).toBe(30);
});

test('a record has one open letter: further poison of it is archived without naming it, in the same batch and beside an older letter', async () => {
	const [twice, exhausted] = [await acceptOne(), await acceptOne()];
	await mesh.db.prisma.deadLetterMessage.create({
		data: { id: newId(), tenantId: sender.tenantId, source: 'SEND_EXHAUSTED', recordId: exhausted, channel: 'MAIL' },
	});
	const service = await start();
	await bury(envelopeOf(twice), envelopeOf(twice), envelopeOf(exhausted));
	await emptied();
	const poison = (await letters()).filter((one) => one.source === 'BROKER_POISON');
	expect(poison.map((one) => one.record_id)).toEqual([twice, null, null]);
	expect(poison.map((one) => [one.tenant_id, one.type])).toEqual(Array.from({ length: 3 }, () => [sender.tenantId, 'order.confirmed']));
	await service.stop();
});

test('whose a message is counts only when there is such a record of that tenant; all other poison is the platform’s', async () => {
	const [id, other] = [await acceptOne(), await makeSender(mesh.db)];
	const service = await start();
	await bury(envelopeOf(id, other.tenantId), envelopeOf(newId()), '{"v":1}', Buffer.from(envelopeOf(id)).subarray(0, 50));
	await emptied();
	expect((await letters()).map((one) => [one.tenant_id, one.record_id, one.channel])).toEqual(
		Array.from({ length: 4 }, () => [platformId, null, 'MAIL']),
	);
	await service.stop();
});

test('F15 whatever the bytes are they are archived, bounded and readable, and good messages behind them too', async () => {
	const id = await acceptOne();
	const service = await start();
	await bury(
		Buffer.alloc(5_000_000, 'x'),
		Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x1b, 0x0a]),
		'',
		`{"recordId":"\\ud800"}`,
		`${'x'.repeat(9_999)}🙂`,
		'['.repeat(100_000),
		envelopeOf(id),
	);
	await emptied();
	const all = await letters();
	expect(all).toHaveLength(7);
	expect(all[0]?.envelope).toBe('x'.repeat(10_000));
	expect(all[0]?.error).toBe('the broker gave up after 21 deliveries; the envelope is cut: it had 5000000 bytes');
	expect(all[1]?.envelope).toBe('{\ufffd\ufffd  \n');
	expect(all[1]?.error).toContain('not UTF-8');
	expect(all[2]?.envelope).toBe('');
	expect(all[4]?.envelope).toBe(`${'x'.repeat(9_999)}\ufffd`);
	expect(all[5]?.error).toContain('it had 100000 bytes');
	expect(all[6]).toMatchObject({ record_id: id, tenant_id: sender.tenantId });
	await service.stop();
});

test.each([
	['none', {}],
	['half an origin', { REAL_TOPIC: TOPIC }],
	['a topic with a control character', { REAL_TOPIC: 'a\0b', ORIGIN_MESSAGE_ID: '1' }],
	['an id that no index takes', { REAL_TOPIC: TOPIC, ORIGIN_MESSAGE_ID: '1'.repeat(10_000) }],
	['empty texts', { REAL_TOPIC: '', ORIGIN_MESSAGE_ID: '' }],
])('a message whose origin is %s is archived by where it stood', async (_, properties: Record<string, string>) => {
	const service = await start();
	await publish(message('poison', properties));
	await emptied();
	expect(await letters()).toMatchObject([{ topic: PLACE.topic, error: expect.stringContaining('does not say where it came from') }]);
	await service.stop();
});

test('a flood of poison is archived in batches', async () => {
	const service = await start();
	await bury(...Array.from({ length: 2_000 }, (_, n) => `flood ${n}`));
	await emptied();
	expect(await letters()).toHaveLength(2_000);
	const lines = service.lines.filter((line) => line.msg === 'poison was archived as dead letters');
	expect(lines.length).toBeLessThanOrEqual(200);
	expect(lines.reduce((sum, line) => sum + Number(line.letters), 0)).toBe(2_000);
	await service.stop();
});

test('F16 while the database is away nothing is acked, an error line and the health say so, and it goes on by itself', async () => {
	const own = openDb({ url: mesh.url, name: 'away' });
	const server = openDb({ url: mesh.url.replace(/\/[^/]*$/, '/postgres'), name: 'server' });
	const database = mesh.url.split('/').at(-1) ?? '';
	const service = await start({ db: own });
	await eventually(async () => (await service.faults()).length === 0, { what: 'a service that is well' });
	await server.pool.query(`alter database ${database} allow_connections false`);
	await server.pool.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
	await bury(...Array.from({ length: 50 }, (_, n) => `late ${n}`));
	await eventually(() =>
		service.lines.some(
			(line) => line.level === 'error' && line.msg === 'poison cannot be archived: it is held, and tried again until it can',
		),
	);
	await eventually(() => service.lines.some((line) => line.msg === 'poll failed and will be repeated'), { what: 'what repeats it' });
	expect(await service.faults()).toEqual([expect.stringContaining('poison cannot be archived')]);
	expect(await mesh.broker.backlog(PLACE.topic, PLACE.subscription)).toBe(50);
	await server.pool.query(`alter database ${database} allow_connections true`);
	await emptied();
	expect(await letters()).toHaveLength(50);
	expect(await service.faults()).toEqual([]);
	await service.stop();
	await own.close();
	await server.close();
});

test('F11 it starts while the broker is away, is not ready, and consumes by itself as soon as it can', async () => {
	let away = true;
	let tries = 0;
	const broker: Broker = {
		publish: (messages) => mesh.broker.publish(messages),
		subscribe: async (options) => {
			if (away) throw new Error('nobody answers');
			return await mesh.broker.subscribe(options);
		},
		backlog: (topic, subscription) => mesh.broker.backlog(topic, subscription),
		ensureTopics: async (topics) => {
			tries += 1;
			if (away) throw new Error('nobody answers');
			await mesh.broker.ensureTopics(topics);
		},
		connected: () => !away,
		on: (event, listener) => mesh.broker.on(event, listener),
		close: async () => undefined,
	};
	const service = await start({ broker });
	await publish(message('waits'));
	await eventually(() => tries >= 2, { what: 'another try' });
	expect(await service.faults()).toEqual([expect.stringContaining(`not consuming yet: mail-send-urgent-DLQ, ${PLACE.topic}`)]);
	expect(service.lines.filter((line) => line.level === 'warn')).toHaveLength(1);
	away = false;
	await eventually(async () => (await letters()).some((one) => one.envelope === 'waits'));
	expect(await service.faults()).toEqual([]);
	await service.stop();
});

test('F39 a stop in the middle of a flood loses nothing: each message is archived or still there', async () => {
	const first = await start();
	await bury(...Array.from({ length: 1_000 }, (_, n) => `stopped ${n}`));
	await eventually(async () => (await letters()).length > 0, { what: 'a first letter' });
	expect(await first.stop()).toEqual({ hung: [], failed: [] });
	const archived = (await letters()).filter((one) => one.envelope.startsWith('stopped')).length;
	expect(archived + (await mesh.broker.backlog(PLACE.topic, PLACE.subscription))).toBeGreaterThanOrEqual(1_000);
	const second = await start();
	await eventually(async () => (await letters()).length >= 1_000, { what: 'every letter' });
	await second.stop();
	expect(new Set((await letters()).map((one) => one.envelope)).size).toBe((await letters()).length);
});

// The last one: what it leaves waits at the broker for half a minute.
test('F16 a message whose letter is refused is not acked and leaves its neighbours alone', async () => {
	await mesh.db.pool.query(`
		create function refuse_letter() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
		create trigger refuse_letter before insert on dead_letter_message for each row when (new.envelope #>> '{}' = 'bad') execute function refuse_letter()`);
	const service = await start();
	await bury('one', 'two', 'bad', 'three', 'four');
	await eventually(async () => (await letters()).length === 4, { what: 'its neighbours' });
	await eventually(() =>
		service.lines.some((line) => line.level === 'error' && line.msg === 'poison could not be archived and comes back'),
	);
	expect(await mesh.broker.backlog(PLACE.topic, PLACE.subscription)).toBe(1);
	await mesh.db.pool.query('drop trigger refuse_letter on dead_letter_message; drop function refuse_letter()');
	await service.stop();
});
