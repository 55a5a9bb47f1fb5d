import { afterAll, expect } from '@jest/globals';
import { newId } from '@tidings/model';
import { Redis } from 'ioredis';
import { eventually } from '../harness/eventually.js';
import type { ServiceProcess } from '../harness/mesh-process.js';
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

/** What became of records so far: all zeros but for those that nobody has touched. */
async function standing({ db }: ProcessMesh, ids: readonly string[]): Promise<object> {
	const { rows } = await db.pool.query(
		`select count(*) filter (where status = 'PENDING')::int as pending, sum(attempt_no)::int as claims, sum(budget_used)::int as burnt, sum(waits)::int as waits,
			(select count(*)::int from delivery_attempt where id = any($1)) as attempts
		from send_state where id = any($1)`,
		[ids],
	);
	return rows[0];
}

/** Lets an outage last for so long that what waits for its end has tried again more than once. */
async function lasts(ms: number): Promise<void> {
	const end = Date.now() + ms;
	await eventually(() => Date.now() >= end, { what: 'the outage to last' });
}

for (const { how, says, breakIt, mend } of BREAKS)
	faultTest(
		`F21 while Redis is ${how} nothing is sent, tried or burnt, and the sender says so; then all goes, without a restart`,
		async (mesh) => {
			const sender = mesh.start('mail-sender');
			await Promise.all([mesh.startReady('outbox-publisher'), sender.ready()]);
			const { pid } = sender;
			const before = mesh.sink.mails.length;
			const ids: string[] = [];
			await breakIt();
			try {
				await eventually(async () => says.test((await sender.admin('/readyz')).text), { ...PATIENCE, what: 'the readiness to say it' });
				ids.push(...(await Promise.all(Array.from({ length: 20 }, () => mesh.submitter.submit()))));
				await eventually(() => sender.said('what counts the rate limits is away; what is held waits for it').length > 0, {
					...PATIENCE,
					what: 'the sender to wait',
				});
				await lasts(1_000);
				expect(await standing(mesh, ids)).toEqual({ pending: 20, claims: 0, burnt: 0, waits: 0, attempts: 0 });
				const { status, text } = await sender.admin('/readyz');
				expect(status).toBe(503);
				expect(JSON.parse(text)).toMatchObject({ status: 'failing', checks: { redis: expect.stringMatching(says) } });
				expect(mesh.sink.mails).toHaveLength(before);
			} finally {
				// Also for the tests behind one that fails.
				await mend();
			}
			await mesh.drained();
			await sender.ready();
			expect(sender.pid).toBe(pid);
			expect(mesh.sink.mails).toHaveLength(before + 20);
			expect(await standing(mesh, ids)).toEqual({ pending: 0, claims: 20, burnt: 0, waits: 0, attempts: 20 });
			expect(await mesh.broken()).toEqual([]);
		},
	);

const PER_MINUTE = 10;

/** A mail server at the sink that lets `PER_MINUTE` recipients through in each minute of Redis' clock, and what is asked about it. */
async function addLimited(mesh: ProcessMesh) {
	const { body } = await mesh.submitter.call('/v1/mail-servers', {
		name: `limited ${newId()}`,
		host: mesh.sink.host,
		port: mesh.sink.port,
		security: 'none',
		from: { address: 'shop@example.com' },
		default: false,
		ratePerMinute: PER_MINUTE,
	});
	const id: string = body.id;
	const before = mesh.sink.mails.length;
	const arrived = () => mesh.sink.mails.length - before;
	return {
		arrived,
		submit: async (count: number) => void (await Promise.all(Array.from({ length: count }, () => mesh.submitter.submit({ serverId: id })))),
		/** Resolves when so many have arrived, or more: a minute may have turned. */
		arrives: (count: number) => eventually(() => arrived() >= count, { ...PATIENCE, what: `${count} mails to arrive` }),
		/** Resolves when the window is full and what was let through has arrived. */
		full: () =>
			eventually(
				async () => {
					const { rows } = await mesh.db.pool.query(
						`select from gate where id = $1 and reason = 'RATE' and closed_until > now() and not exists (select from send_state where status = 'SENDING')`,
						[id],
					);
					return rows.length === 1;
				},
				{ ...PATIENCE, what: 'the window to be full' },
			),
		/** How many recipients each minute has counted, by its number; each key ends by itself. */
		windows: async () => {
			const found = new Map<number, number>();
			for (const key of await client.keys(`rl:mail:min:*:${id}:*`)) {
				expect(await client.ttl(key)).toBeGreaterThan(0);
				found.set(Number(key.slice(key.lastIndexOf(':') + 1)), Number(await client.get(key)));
			}
			return found;
		},
		resume: () => mesh.submitter.call(`/v1/mail-servers/${id}:resume`, {}),
		unlimit: () => mesh.submitter.change(`/v1/mail-servers/${id}`, { ratePerMinute: null }),
	};
}

/** The number of Redis' minute. */
async function minuteNow(): Promise<number> {
	return Math.floor(Number((await client.time())[0]) / 60);
}

/** Settings of a process whose wall clock is wrong by so many milliseconds. */
function skewed(ms: number): Readonly<Record<string, string>> {
	const code = `const Real=Date;globalThis.Date=class extends Real{constructor(...of){if(of.length===0)super(Real.now()+${ms});else super(...of)}static now(){return Real.now()+${ms}}}`;
	return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** By how many milliseconds the clock of a process that has just said something is wrong. */
function skewOf({ lines }: ServiceProcess): number {
	return Date.parse(String(lines.at(-1)?.['time'])) - Date.now();
}

faultTest('F22 two senders whose clocks are three minutes apart count into one window, that of Redis', async (mesh) => {
	const limited = await addLimited(mesh);
	const first = await minuteNow();
	const slow = mesh.start('mail-sender', skewed(-90_000));
	await Promise.all([mesh.startReady('outbox-publisher'), slow.ready()]);
	await limited.submit(6);
	await limited.arrives(6);
	await slow.term();
	expect(Math.abs(skewOf(slow) + 90_000)).toBeLessThan(30_000);
	const fast = mesh.start('mail-sender', skewed(90_000));
	await fast.started();
	expect(Math.abs(skewOf(fast) - 90_000)).toBeLessThan(30_000);
	await limited.submit(34);
	await limited.full();
	const [windows, last] = [await limited.windows(), await minuteNow()];
	for (const [minute, used] of windows) {
		expect(minute).toBeGreaterThanOrEqual(first);
		expect(minute).toBeLessThanOrEqual(last);
		expect(used).toBeLessThanOrEqual(PER_MINUTE);
	}
	expect(limited.arrived()).toBeLessThanOrEqual(PER_MINUTE * (last - first + 1));
	expect(Math.max(...windows.values())).toBe(PER_MINUTE);
	await limited.unlimit();
	await mesh.drained();
	expect(await mesh.broken()).toEqual([]);
});

faultTest('F21 when Redis is flushed, two senders together send at most one window more', async (mesh) => {
	const limited = await addLimited(mesh);
	const first = await minuteNow();
	await mesh.startReady('outbox-publisher', 'mail-sender', 'mail-sender');
	await limited.submit(60);
	await limited.full();
	expect(limited.arrived()).toBeLessThanOrEqual(PER_MINUTE * ((await minuteNow()) - first + 1));
	const before = limited.arrived();
	await client.flushall();
	await limited.resume();
	await limited.arrives(before + PER_MINUTE);
	await limited.full();
	expect(limited.arrived()).toBeLessThanOrEqual(PER_MINUTE * ((await minuteNow()) - first + 2));
	await limited.unlimit();
	await mesh.drained();
	expect(await mesh.broken()).toEqual([]);
});
