import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { monotonic, newId } from '@tidings/model';
import { createLogger } from '@tidings/telemetry';
import { Redis } from 'ioredis';
import { eventually } from '../../../test/harness/eventually.js';
import { startRedis, type TestRedis } from '../../../test/harness/redis.js';
import { createRequestCounter, type RequestCounter } from './count-requests.js';

let redis: TestRedis;
beforeAll(async () => {
	redis = await startRedis();
});
afterAll(async () => await redis.stop());

const lines: string[] = [];
const log = createLogger({ service: 'test', level: 'debug', destination: { write: (line: string) => void lines.push(line) } });

async function withCounters(redisUrl: string | null, act: (one: RequestCounter, two: RequestCounter) => Promise<void>): Promise<void> {
	const counters = [createRequestCounter({ redisUrl, log }), createRequestCounter({ redisUrl, log })] as const;
	for (const one of counters) await one.start();
	try {
		await act(...counters);
	} finally {
		for (const one of counters) await one.stop();
	}
}

const MUCH = 100_000;

/** How many of `times` requests were held back: windows are whole seconds, so two may be touched. */
async function heldBack(
	counter: RequestCounter,
	caller: string,
	{ perSecond, times }: { perSecond: number; times: number },
): Promise<number> {
	const waits = await Promise.all(Array.from({ length: times }, () => counter.count({ tenantId: TENANT, caller, perSecond })));
	expect(waits.every((wait) => wait === null || wait >= 1)).toBe(true);
	return waits.filter((wait) => wait !== null).length;
}
const TENANT = newId();

test('in one process each caller has so many requests a second of its own', async () => {
	await withCounters(null, async (one, two) => {
		expect(await heldBack(one, 'ann', { perSecond: 5, times: 50 })).toBeGreaterThanOrEqual(40);
		expect(await heldBack(one, 'bo', { perSecond: MUCH, times: 50 })).toBe(0);
		expect(await heldBack(two, 'ann', { perSecond: 5, times: 5 })).toBe(0);
		expect(await heldBack(one, 'cleo', { perSecond: 0.5, times: 1 })).toBe(0);
	});
});

test('who was held back is let in again in another second', async () => {
	await withCounters(null, async (one) => {
		expect(await heldBack(one, 'ann', { perSecond: 1, times: 10 })).toBeGreaterThan(0);
		await eventually(async () => (await one.count({ tenantId: TENANT, caller: 'ann', perSecond: 1 })) === null);
	});
});

test('with Redis all processes count together, under keys that end by themselves and hold no caller', async () => {
	const client = new Redis(redis.url);
	await withCounters(redis.url, async (one, two) => {
		const caller = 'user:ann@example.com';
		await eventually(async () => {
			const before = await client.dbsize();
			await one.count({ tenantId: TENANT, caller: `warm-${newId()}`, perSecond: 1 });
			await two.count({ tenantId: TENANT, caller: `warm-${newId()}`, perSecond: 1 });
			return (await client.dbsize()) >= before + 2;
		});
		// Each by itself would hold back 60 of 80 at most.
		await eventually(async () => {
			const name = newId();
			const held = await Promise.all([one, two].map((counter) => heldBack(counter, name, { perSecond: 10, times: 40 })));
			return (held[0] ?? 0) + (held[1] ?? 0) > 60;
		});
		const keys = await eventually(async () => {
			await one.count({ tenantId: TENANT, caller, perSecond: MUCH });
			const found = await client.keys('*');
			return found.length > 0 && found;
		});
		for (const key of keys) {
			expect(key).toMatch(new RegExp(`^rl:api:${TENANT}:[\\w-]{22}$`));
			expect(await client.pttl(key)).toBeLessThanOrEqual(1_000);
			expect(await client.pttl(key)).not.toBe(-1);
		}
	});
	client.disconnect();
});

test('while Redis is away each process counts by itself and says so once, and together again when it is back', async () => {
	const client = new Redis(redis.url, { retryStrategy: () => 20 });
	client.on('error', () => undefined);
	lines.length = 0;
	await withCounters(redis.url, async (one, two) => {
		const reachesRedis = async () => {
			const before = await client.dbsize();
			await one.count({ tenantId: TENANT, caller: newId(), perSecond: 1 });
			return (await client.dbsize()) > before;
		};
		await eventually(reachesRedis);
		lines.length = 0;
		await redis.kill();
		expect(await heldBack(one, 'ann', { perSecond: 5, times: 50 })).toBeGreaterThanOrEqual(40);
		expect(await heldBack(two, 'ann', { perSecond: MUCH, times: 50 })).toBe(0);
		expect(await heldBack(one, 'ann', { perSecond: MUCH, times: 50 })).toBe(0);
		expect(lines.map((line) => JSON.parse(line).msg)).toEqual(Array(2).fill('Redis is away: each process counts requests by itself'));
		await redis.restart();
		await eventually(reachesRedis);
	});
	client.disconnect();
});

test('a Redis that does not answer holds nobody up', async () => {
	await withCounters(redis.url, async (one) => {
		await one.count({ tenantId: TENANT, caller: 'ann', perSecond: 1 });
		redis.pause();
		expect(await heldBack(one, 'bo', { perSecond: 5, times: 50 })).toBeGreaterThanOrEqual(40);
		expect(await heldBack(one, 'bo', { perSecond: MUCH, times: 50 })).toBe(0);
		redis.resume();
	});
});

test('a Redis that does not answer is tried by one request at a time, so that nothing piles up while it is silent for long', async () => {
	const client = new Redis(redis.url);
	try {
		await withCounters(redis.url, async (one) => {
			await heldBack(one, 'ann', { perSecond: MUCH, times: 1 });
			await client.config('RESETSTAT');
			redis.pause();
			const until = monotonic() + 3_000;
			while (monotonic() < until) {
				await heldBack(one, 'ann', { perSecond: MUCH, times: 50 });
				await new Promise((resolve) => setImmediate(resolve));
			}
			redis.resume();
			// All that was sent, also what nobody waits for any more: what was under way when it fell silent, and the tries since.
			const stats = await client.info('commandstats');
			const sent = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
			expect(sent).toBeGreaterThan(50);
			expect(sent).toBeLessThan(60);
		});
	} finally {
		redis.resume();
		client.disconnect();
	}
});

test('a Redis that is not there when the service starts, or wants another password, holds nobody up, and no password is logged', async () => {
	lines.length = 0;
	const url = redis.url.replace('redis://', 'redis://ann:sesame-of-ann@');
	await withCounters(url, async (one) => {
		expect(await heldBack(one, 'ann', { perSecond: 5, times: 50 })).toBeGreaterThanOrEqual(40);
		await eventually(async () => {
			await one.count({ tenantId: TENANT, caller: 'ann', perSecond: MUCH });
			return lines.length > 0;
		});
	});
	await redis.kill();
	await withCounters(redis.url, async (one) => {
		expect(await heldBack(one, 'bo', { perSecond: 5, times: 50 })).toBeGreaterThanOrEqual(40);
	});
	expect(lines.join('')).not.toContain('sesame');
	await redis.restart();
});
