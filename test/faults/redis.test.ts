import { afterAll, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../harness/eventually.js';
import type { ProcessMesh } from '../harness/process-mesh.js';
import { startRedis, type TestRedis } from '../harness/redis.js';
import { meshOfFile, PATIENCE } from './kit.js';

// Redis breaks in every way; senders send nothing, lose nothing, burn nothing, and go on by themselves.

let server: TestRedis;
let client: Redis;

const faultTest = meshOfFile(async () => {
	server = await startRedis();
	client = new Redis(server.url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
	client.on('error', () => undefined);
	return { settings: { REDIS_URL: server.url } };
});
afterAll(async () => {
	client.disconnect();
	await server.stop();
});

/** How Redis is broken, how it is mended, and what the readiness says meanwhile. */
const BREAKS: readonly { readonly how: string; readonly says: RegExp; breakIt(): Promise<unknown>; mend(): Promise<unknown> }[] = [
	{ how: 'killed', says: /Redis cannot count/, breakIt: () => server.kill(), mend: () => server.restart() },
	{ how: 'silent', says: /Redis cannot count/, breakIt: async () => server.pause(), mend: async () => server.resume() },
	{ how: 'full', says: /OOM/, breakIt: () => client.config('SET', 'maxmemory', '1'), mend: () => client.config('SET', 'maxmemory', '0') },
	{ how: 'read-only', says: /READONLY/, breakIt: () => client.replicaof('127.0.0.1', 1), mend: () => client.replicaof('NO', 'ONE') },
];

async function standing({ db }: ProcessMesh, ids: readonly string[]): Promise<object> {
	const { rows } = await db.pool.query(
		`select count(*) filter (where status = 'PENDING')::int as pending, sum(attempt_no)::int as attempts, sum(budget_used)::int as burnt, sum(waits)::int as waits from send_state where id = any($1)`,
		[ids],
	);
	return rows[0];
}

for (const { how, says, breakIt, mend } of BREAKS)
	faultTest(
		`F21 while Redis is ${how} nothing is sent, tried or burnt, and the sender says so; then all goes, without a restart`,
		async (mesh) => {
			const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
			await breakIt();
			const readiness = async (): Promise<string> => (await sender?.admin('/readyz'))?.text ?? '';
			await eventually(async () => says.test(await readiness()), { ...PATIENCE, what: 'the readiness to say it' });
			const before = mesh.sink.mails.length;
			const ids = await Promise.all(Array.from({ length: 20 }, () => mesh.submitter.submit()));
			await eventually(() => (sender?.said('what counts the rate limits is away; what is held waits for it').length ?? 0) > 0, {
				...PATIENCE,
				what: 'the sender to wait',
			});
			expect(await standing(mesh, ids)).toEqual({ pending: 20, attempts: 0, burnt: 0, waits: 0 });
			expect(mesh.sink.mails).toHaveLength(before);
			expect(JSON.parse(await readiness())).toMatchObject({ status: 'failing', checks: { redis: expect.stringMatching(says) } });
			await mend();
			await mesh.drained();
			await sender?.ready();
			expect(mesh.sink.mails).toHaveLength(before + 20);
			expect(await mesh.broken()).toEqual([]);
		},
	);

faultTest('F21 flushed, and F22 two senders: they share one window, and a flush allows at most one more', async (mesh) => {
	// The day must not turn while it is counted.
	await eventually(() => Date.now() % 86_400_000 < 86_280_000, { ...PATIENCE, within: 130_000, what: 'a day with enough left of it' });
	const { body } = await mesh.submitter.call('/v1/mail-servers', {
		name: 'limited',
		host: mesh.sink.host,
		port: mesh.sink.port,
		security: 'none',
		from: { address: 'shop@example.com' },
		default: false,
		dailyLimit: 10,
	});
	const before = mesh.sink.mails.length;
	await mesh.startReady('outbox-publisher', 'mail-sender', 'mail-sender');
	await Promise.all(Array.from({ length: 40 }, () => mesh.submitter.submit({ serverId: body.id })));
	const closed = (): Promise<unknown> =>
		eventually(
			async () =>
				(await mesh.db.pool.query(`select from gate where id = $1 and reason = 'RATE' and closed_until > now()`, [body.id])).rowCount === 1,
			{
				...PATIENCE,
				what: 'the window to be full',
			},
		);
	const idle = (): Promise<unknown> =>
		eventually(
			async () => {
				const { rowCount } = await mesh.db.pool.query(
					`select id from outbox_entry where taken union all select id from send_state where status = 'SENDING'`,
				);
				return rowCount === 0;
			},
			{ ...PATIENCE, what: 'the rest to wait' },
		);
	await closed();
	await idle();
	expect(mesh.sink.mails).toHaveLength(before + 10);
	await client.flushall();
	await mesh.submitter.call(`/v1/mail-servers/${body.id}:resume`, {});
	await eventually(() => mesh.sink.mails.length === before + 20, { ...PATIENCE, what: 'ten more' });
	await closed();
	await idle();
	expect(mesh.sink.mails).toHaveLength(before + 20);
	await mesh.submitter.change(`/v1/mail-servers/${body.id}`, { dailyLimit: null });
	await mesh.drained();
	expect(await mesh.broken()).toEqual([]);
});
