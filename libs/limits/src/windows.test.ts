import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { eventually } from '../../../test/harness/eventually.js';
import { startRedis, type TestRedis } from '../../../test/harness/redis.js';
import { createMemoryWindows } from './memory-windows.js';
import type { RateWindows, WindowRequest } from './rate-windows.js';
import { openRateWindows } from './redis-windows.js';

let server: TestRedis;
let redis: Redis;
let windows: RateWindows;
beforeAll(async () => {
	server = await startRedis();
	redis = new Redis(server.url, { retryStrategy: () => 50 });
	redis.on('error', () => undefined);
	windows = openRateWindows({ redisUrl: server.url });
	await windows.start();
});
afterAll(async () => {
	await windows.stop();
	redis.disconnect();
	await server.stop();
});

const newConfig = (change: Partial<WindowRequest> = {}): WindowRequest => ({
	channel: 'MAIL',
	tenantId: newId(),
	configId: newId(),
	cost: 1,
	perMinute: null,
	perDay: null,
	...change,
});
const repeat = (count: number, request: WindowRequest): WindowRequest[] => Array.from({ length: count }, () => request);
const passed = (answers: readonly unknown[]): number => answers.filter((one) => one === null).length;

/** A minute or a day must not turn while something is counted: a fresh one is waited for when little of it is left. */
async function wellWithinAMinute(): Promise<void> {
	await eventually(() => Date.now() % 60_000 < 55_000, { what: 'a minute with enough left of it', within: 10_000 });
}

describe.each([
	['Redis', () => windows],
	['memory', createMemoryWindows],
])('in %s', (_, open) => {
	test('as many recipients pass as the window holds, and what is denied is told which window, and when it opens', async () => {
		await wellWithinAMinute();
		const limits = open();
		const answers = await limits.take(repeat(15, newConfig({ perMinute: 10 })));
		expect(answers.slice(0, 10)).toEqual(Array(10).fill(null));
		for (const denial of answers.slice(10)) {
			expect(denial?.window).toBe('min');
			expect(denial?.opensInMs).toBeGreaterThan(0);
			expect(denial?.opensInMs).toBeLessThanOrEqual(60_000);
		}
	});

	test('a message takes room in both windows or in none', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 3, perDay: 100 });
		expect(passed(await limits.take(repeat(10, config)))).toBe(3);
		expect(passed(await limits.take(repeat(10, config)))).toBe(0);
		expect((await limits.read(config)).map(({ window, used, left }) => [window, used, left])).toEqual([
			['min', 3, 0],
			['daily', 3, 97],
		]);
		const daily = newConfig({ perMinute: 100, perDay: 3 });
		expect((await limits.take(repeat(4, daily)))[3]?.window).toBe('daily');
		expect((await limits.read(daily))[0]?.used).toBe(3);
	});

	test('a cost above the limit counts as the whole limit', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 10, cost: 500 });
		expect(passed(await limits.take([config, { ...config, cost: 1 }]))).toBe(1);
		expect((await limits.read(config))[0]).toMatchObject({ limit: 10, used: 10, left: 0 });
	});

	test('once one of a config is denied, nothing behind it overtakes it; another config is not touched', async () => {
		await wellWithinAMinute();
		const limits = open();
		const [config, other] = [newConfig({ perMinute: 10 }), newConfig({ perMinute: 10 })];
		const answers = await limits.take([{ ...config, cost: 8 }, { ...config, cost: 5 }, { ...config, cost: 1 }, other]);
		expect(answers.map((one) => one === null)).toEqual([true, false, false, true]);
	});

	test('without a window nothing is denied', async () => {
		expect(passed(await open().take(repeat(50, newConfig({ cost: 1_000 }))))).toBe(50);
		expect(await open().read(newConfig())).toEqual([]);
	});

	test('whatever is asked, in whatever batches, no window ever holds more than its limit', async () => {
		const limits = open();
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 8 }), { maxLength: 8 }),
				fc.integer({ min: 1, max: 20 }),
				fc.integer({ min: 1, max: 20 }),
				async (batches, perMinute, perDay) => {
					await wellWithinAMinute();
					const config = newConfig({ perMinute, perDay });
					const answers = await Promise.all(batches.map((costs) => limits.take(costs.map((cost) => ({ ...config, cost })))));
					const taken = (limit: number): number =>
						batches
							.flatMap((costs, n) => costs.map((cost, m) => (answers[n]?.[m] === null ? Math.min(cost, limit) : 0)))
							.reduce((a, b) => a + b, 0);
					expect(taken(perMinute)).toBeLessThanOrEqual(perMinute);
					expect(taken(perDay)).toBeLessThanOrEqual(perDay);
					expect((await limits.read(config)).map((one) => one.used)).toEqual([taken(perMinute), taken(perDay)]);
				},
			),
			{ numRuns: 60 },
		);
	});
});

test('F22 the window is Redis’ own: a client whose clock is wrong counts into the same one', async () => {
	await wellWithinAMinute();
	const other = openRateWindows({ redisUrl: server.url });
	await other.start();
	const config = newConfig({ perMinute: 10 });
	const clock = Date.now;
	Date.now = () => clock() + 90_000;
	try {
		expect(passed(await windows.take(repeat(6, config)))).toBe(6);
		Date.now = () => clock() - 90_000;
		expect(passed(await other.take(repeat(6, config)))).toBe(0 + 4);
	} finally {
		Date.now = clock;
		await other.stop();
	}
	const keys = await redis.keys(`rl:mail:min:${config.tenantId}:${config.configId}:*`);
	const [seconds] = await redis.time();
	expect(keys).toEqual([`rl:mail:min:${config.tenantId}:${config.configId}:${Math.floor(Number(seconds) / 60)}`]);
});

test('K22 every key of the limiter expires', async () => {
	await windows.take([newConfig({ perMinute: 1 }), newConfig({ perDay: 1 }), newConfig({ perMinute: 5, perDay: 5, cost: 3 }), newConfig()]);
	const keys = await redis.keys('rl:*');
	expect(keys.length).toBeGreaterThan(4);
	for (const key of keys) expect(await redis.ttl(key)).toBeGreaterThan(0);
});

describe('F21 while Redis cannot count, nothing passes, also what has no window; then it goes on by itself', () => {
	const refused = async (reason: RegExp): Promise<void> => {
		await expect(windows.take([newConfig()])).rejects.toThrow(reason);
		await expect(windows.health()).rejects.toThrow(reason);
		await expect(windows.read(newConfig({ perDay: 1 }))).rejects.toThrow(/Redis cannot count/);
	};
	const well = (): Promise<unknown> =>
		eventually(
			() =>
				windows.take([newConfig()]).then(
					() => true,
					() => false,
				),
			{ what: 'Redis to count again' },
		);

	test('killed and started again', async () => {
		await server.kill();
		await refused(/Redis cannot count/);
		await server.restart();
		await well();
	});

	test('silent', async () => {
		server.pause();
		await refused(/Redis cannot count/);
		server.resume();
		await well();
	});

	test('paused for its clients', async () => {
		await redis.call('CLIENT', 'PAUSE', '60000', 'ALL');
		await refused(/Redis cannot count/);
		// The pause holds back UNPAUSE from everybody but those who were told to pass: so its process is started anew.
		await server.kill();
		await server.restart();
		await well();
	});

	test('full', async () => {
		await redis.config('SET', 'maxmemory', '1');
		await expect(windows.take([newConfig()])).rejects.toThrow(/OOM/);
		await expect(windows.health()).rejects.toThrow(/OOM/);
		await redis.config('SET', 'maxmemory', '0');
		await well();
	});

	test('a replica that takes no writes', async () => {
		await redis.replicaof('127.0.0.1', 1);
		await expect(windows.take([newConfig()])).rejects.toThrow(/READONLY/);
		await expect(windows.health()).rejects.toThrow(/READONLY/);
		await redis.replicaof('NO', 'ONE');
		await well();
	});

	test('flushed: at most one window more', async () => {
		await wellWithinAMinute();
		const config = newConfig({ perMinute: 5 });
		expect(passed(await windows.take(repeat(9, config)))).toBe(5);
		await redis.flushall();
		expect(passed(await windows.take(repeat(9, config)))).toBe(5);
	});
});

test('an error says why, and shows neither the command nor the password', async () => {
	const closed = openRateWindows({ redisUrl: 'redis://user:s3cret@127.0.0.1:1' });
	await closed.start();
	const error = await closed.take([newConfig()]).catch((one: unknown) => one);
	expect(String(error)).toMatch(/Redis cannot count the rate limits: .*ECONNREFUSED/);
	expect(JSON.stringify([error, Object.entries(error as object)])).not.toContain('s3cret');
	await closed.stop();
});
