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

/** Settings of a process that runs this code before its own. */
function preloaded(code: string): Readonly<Record<string, string>> {
	return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** What a sender says each time it asks Redis for room for messages, also while there is no connection. Readiness asks without messages. */
const ASKS = 'asks for room';
const TELLING = preloaded(`
	import { createRequire } from 'node:module';
	const { Redis } = createRequire(process.cwd() + '/')('ioredis');
	const send = Redis.prototype.sendCommand;
	Redis.prototype.sendCommand = function (command, stream) {
		if (command.name === 'eval' && command.args.includes('mail')) console.log(JSON.stringify({ msg: '${ASKS}', take: command.args[3] }));
		return send.call(this, command, stream);
	};`);

/** Resolves when a sender asks for the same room for the third time from now on: the first answer, and what it did again by itself, have both changed nothing. */
function asksThrice(sender: ServiceProcess, what: string): () => Promise<unknown> {
	const from = sender.said(ASKS).length;
	const asked = () => {
		const times = new Map<unknown, number>();
		for (const { take } of sender.said(ASKS).slice(from)) times.set(take, (times.get(take) ?? 0) + 1);
		return Math.max(0, ...times.values());
	};
	return () => eventually(() => asked() >= 3, { ...PATIENCE, what });
}

const WAITS = 'what counts the rate limits is away; what is held waits for it';

/** Breaks Redis, submits, looks while it lasts, mends it, and looks again. */
async function survives(mesh: ProcessMesh, sender: ServiceProcess, { how, says, breakIt, mend }: (typeof BREAKS)[number]): Promise<void> {
	const [mails, waits] = [mesh.sink.mails.length, sender.said(WAITS).length];
	const thrice = asksThrice(sender, `the sender to try again while Redis is ${how}`);
	const ids: string[] = [];
	await breakIt();
	try {
		await eventually(async () => says.test((await sender.admin('/readyz')).text), { ...PATIENCE, what: `the readiness to say “${how}”` });
		ids.push(...(await Promise.all(Array.from({ length: 20 }, () => mesh.submitter.submit()))));
		await thrice();
		expect(sender.said(WAITS)).toHaveLength(waits + 1);
		expect({ how, ...(await standing(mesh, ids)) }).toEqual({ how, pending: 20, claims: 0, burnt: 0, waits: 0, attempts: 0 });
		const { status, text } = await sender.admin('/readyz');
		expect({ how, status }).toEqual({ how, status: 503 });
		expect(JSON.parse(text)).toMatchObject({ status: 'failing', checks: { redis: expect.stringMatching(says) } });
		expect({ how, mails: mesh.sink.mails.length }).toEqual({ how, mails });
	} finally {
		// Also for the tests behind one that fails.
		await mend();
	}
	await mesh.drained();
	await sender.ready();
	expect({ how, mails: mesh.sink.mails.length }).toEqual({ how, mails: mails + 20 });
	expect({ how, ...(await standing(mesh, ids)) }).toEqual({ how, pending: 0, claims: 20, burnt: 0, waits: 0, attempts: 20 });
}

faultTest(
	`F21 while Redis is ${BREAKS.map(({ how }) => how).join(', ')} nothing is sent, tried or burnt, and the sender says so; then all goes, each time by the same sender`,
	async (mesh) => {
		const sender = mesh.start('mail-sender', TELLING);
		await Promise.all([mesh.startReady('outbox-publisher'), sender.ready()]);
		const { pid } = sender;
		for (const one of BREAKS) await survives(mesh, sender, one);
		expect(sender.pid).toBe(pid);
		expect(sender.running).toBe(true);
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
	return preloaded(
		`const Real=Date;globalThis.Date=class extends Real{constructor(...of){if(of.length===0)super(Real.now()+${ms});else super(...of)}static now(){return Real.now()+${ms}}}`,
	);
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
