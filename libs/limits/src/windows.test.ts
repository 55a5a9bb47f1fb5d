import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { eventually } from '../../../test/harness/eventually.js';
import { startRedis, type TestRedis } from '../../../test/harness/redis.js';
import { createMemoryWindows } from './memory-windows.js';
import type { Denial, RateWindows, WindowAnswer, WindowRequest } from './rate-windows.js';
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
const isThrough = (answer: WindowAnswer | undefined): boolean => answer !== undefined && 'room' in answer;
const passed = (answers: readonly WindowAnswer[]): number => answers.filter(isThrough).length;
const denialOf = (answer: WindowAnswer | undefined): Denial | undefined =>
	answer !== undefined && 'denial' in answer ? answer.denial : undefined;
const roomsOf = (answers: readonly WindowAnswer[]) => answers.flatMap((one) => ('room' in one ? [one.room] : []));
const take = (from: RateWindows, requests: readonly WindowRequest[]): Promise<WindowAnswer[]> => from.take(newId(), requests);

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
		const answers = await take(limits, repeat(15, newConfig({ perMinute: 10 })));
		expect(answers.map(isThrough)).toEqual([...Array(10).fill(true), ...Array(5).fill(false)]);
		for (const denial of answers.slice(10).map(denialOf)) {
			expect(denial).toMatchObject({ window: 'min', shut: true });
			expect(denial?.opensInMs).toBeGreaterThan(0);
			expect(denial?.opensInMs).toBeLessThanOrEqual(60_000);
		}
	});

	test('a message takes room in both windows or in none', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 3, perDay: 100 });
		expect(passed(await take(limits, repeat(10, config)))).toBe(3);
		expect(passed(await take(limits, repeat(10, config)))).toBe(0);
		expect((await limits.read(config)).map(({ window, used, left }) => [window, used, left])).toEqual([
			['min', 3, 0],
			['daily', 3, 97],
		]);
		const daily = newConfig({ perMinute: 100, perDay: 3 });
		expect(denialOf((await take(limits, repeat(4, daily)))[3])?.window).toBe('daily');
		expect((await limits.read(daily))[0]?.used).toBe(3);
	});

	test('a cost above the limit counts as the whole limit', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 10, cost: 500 });
		expect(passed(await take(limits, [config, { ...config, cost: 1 }]))).toBe(1);
		expect((await limits.read(config))[0]).toMatchObject({ limit: 10, used: 10, left: 0 });
	});

	test('what is too large for the rest of a window lets smaller ones pass; what comes after the last of it finds it shut', async () => {
		await wellWithinAMinute();
		const limits = open();
		const [config, other] = [newConfig({ perMinute: 10 }), newConfig({ perMinute: 10 })];
		const costs = [8, 5, 1, 3, 1, 1];
		const answers = await take(limits, [...costs.map((cost) => ({ ...config, cost })), other]);
		expect(answers.map((one) => denialOf(one)?.shut)).toEqual([undefined, false, undefined, false, undefined, true, undefined]);
	});

	test('the rest of a window is shut once a hundred have not fitted', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 10 });
		await take(limits, repeat(9, config));
		const answers = await take(limits, repeat(120, { ...config, cost: 2 }));
		expect(answers.map((one) => denialOf(one)?.shut)).toEqual([...Array(100).fill(false), ...Array(20).fill(true)]);
	});

	test('room that is given back can be taken again, and only once', async () => {
		await wellWithinAMinute();
		const limits = open();
		const config = newConfig({ perMinute: 10, perDay: 6, cost: 3 });
		const rooms = roomsOf(await take(limits, repeat(2, config)));
		expect(passed(await take(limits, [config]))).toBe(0);
		await limits.giveBack(rooms.slice(1));
		expect((await limits.read(config)).map((one) => one.used)).toEqual([3, 3]);
		expect(passed(await take(limits, [config, config]))).toBe(1);
		await limits.giveBack([...rooms, ...rooms, ...rooms]);
		expect((await limits.read(config)).map((one) => one.used)).toEqual([0, 0]);
		await limits.giveBack([[], [{ key: 'rl:mail:min:of:a window that is over:1', share: 5 }]]);
		expect((await limits.read(config)).map((one) => one.used)).toEqual([0, 0]);
	});

	test('without a window nothing is denied', async () => {
		expect(passed(await take(open(), repeat(50, newConfig({ cost: 1_000 }))))).toBe(50);
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
					const answers = await Promise.all(
						batches.map((costs) =>
							take(
								limits,
								costs.map((cost) => ({ ...config, cost })),
							),
						),
					);
					const taken = (limit: number): number =>
						batches
							.flatMap((costs, n) => costs.map((cost, m) => (isThrough(answers[n]?.[m]) ? Math.min(cost, limit) : 0)))
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

test('a take that is repeated because its answer was lost counts once', async () => {
	await wellWithinAMinute();
	const config = newConfig({ perMinute: 10, perDay: 100, cost: 2 });
	const name = newId();
	for (let n = 0; n < 4; n += 1) expect(passed(await windows.take(name, repeat(3, config)))).toBe(3);
	expect((await windows.read(config)).map((one) => one.used)).toEqual([6, 6]);
	expect(passed(await windows.take(newId(), repeat(3, config)))).toBe(2);
	// Its room is that of the newer one now, and nobody asks for the older one any more.
	expect(passed(await windows.take(name, [config]))).toBe(0);
});

test('F22 the window is Redis’ own: a client whose clock is wrong counts into the same one', async () => {
	await wellWithinAMinute();
	const other = openRateWindows({ redisUrl: server.url });
	await other.start();
	const config = newConfig({ perMinute: 10 });
	const clock = Date.now;
	Date.now = () => clock() + 90_000;
	try {
		expect(passed(await take(windows, repeat(6, config)))).toBe(6);
		Date.now = () => clock() - 90_000;
		expect(passed(await take(other, repeat(6, config)))).toBe(0 + 4);
	} finally {
		Date.now = clock;
		await other.stop();
	}
	const keys = await redis.keys(`rl:mail:min:${config.tenantId}:${config.configId}:*`);
	const [seconds] = await redis.time();
	expect(keys).toEqual([`rl:mail:min:${config.tenantId}:${config.configId}:${Math.floor(Number(seconds) / 60)}`]);
});

test('K22 every key of the limiter expires', async () => {
	await take(windows, [
		newConfig({ perMinute: 1 }),
		newConfig({ perDay: 1 }),
		newConfig({ perMinute: 5, perDay: 5, cost: 3 }),
		newConfig(),
	]);
	const keys = await redis.keys('rl:*');
	expect(keys.length).toBeGreaterThan(4);
	for (const key of keys) expect(await redis.ttl(key)).toBeGreaterThan(0);
});

describe('F21 while Redis cannot count, nothing passes, also what has no window; then it goes on by itself', () => {
	const refused = async (reason: RegExp): Promise<void> => {
		await expect(take(windows, [newConfig()])).rejects.toThrow(reason);
		await expect(windows.health()).rejects.toThrow(reason);
		await expect(windows.read(newConfig({ perDay: 1 }))).rejects.toThrow(/Redis cannot count/);
	};
	const well = (): Promise<unknown> =>
		eventually(
			() =>
				take(windows, [newConfig()]).then(
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

	test('silent; the tries that it hears of later count once', async () => {
		await wellWithinAMinute();
		const config = newConfig({ perMinute: 5, cost: 2 });
		const name = newId();
		server.pause();
		for (let n = 0; n < 4; n += 1) await expect(windows.take(name, [config])).rejects.toThrow(/Redis cannot count/);
		await expect(windows.health()).rejects.toThrow(/Redis cannot count/);
		server.resume();
		await eventually(() => windows.take(name, [config]).then(passed, () => 0), { what: 'Redis to count again' });
		expect((await windows.read(config))[0]?.used).toBe(2);
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
		await expect(take(windows, [newConfig()])).rejects.toThrow(/OOM/);
		await expect(windows.health()).rejects.toThrow(/OOM/);
		await redis.config('SET', 'maxmemory', '0');
		await well();
	});

	test('a replica that takes no writes', async () => {
		await redis.replicaof('127.0.0.1', 1);
		await expect(take(windows, [newConfig()])).rejects.toThrow(/READONLY/);
		await expect(windows.health()).rejects.toThrow(/READONLY/);
		await redis.replicaof('NO', 'ONE');
		await well();
	});

	test('flushed: at most one window more', async () => {
		await wellWithinAMinute();
		const config = newConfig({ perMinute: 5 });
		expect(passed(await take(windows, repeat(9, config)))).toBe(5);
		await redis.flushall();
		expect(passed(await take(windows, repeat(9, config)))).toBe(5);
	});
});

test('an error says why, and shows neither the command nor the password', async () => {
	const closed = openRateWindows({ redisUrl: 'redis://user:s3cret@127.0.0.1:1' });
	await closed.start();
	const error = await take(closed, [newConfig()]).catch((one: unknown) => one);
	expect(String(error)).toMatch(/Redis cannot count the rate limits: .*ECONNREFUSED/);
	expect(JSON.stringify([error, Object.entries(error as object)])).not.toContain('s3cret');
	await closed.stop();
});
