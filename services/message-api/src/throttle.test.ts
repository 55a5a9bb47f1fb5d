import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Answer, startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';
import { startRedis, type TestRedis } from '../../../test/harness/redis.js';

let redis: TestRedis;
let api: TestApi;
let twin: TestApi;
beforeAll(async () => {
	redis = await startRedis();
	const callers = { ratePerSecond: 10, redisUrl: redis.url };
	api = await startApi({ callers });
	twin = await startApi({ databaseUrl: api.databaseUrl, keys: api, callers });
});
afterAll(async () => {
	await twin.stop();
	await api.stop();
	await redis.stop();
});

const freshKey = async (at: TestApi = api): Promise<string> =>
	(
		await eventually(async () => {
			const made = await at.call('/v1/api-keys', { body: { name: 'k', capabilities: ['messages:read'] } });
			return made.status === 201 && made;
		})
	).body.key;

/** Calls at once, at one service or in turn at several. */
const burst = async (services: readonly TestApi[], key: string, times: number, path = '/v1/messages'): Promise<Answer[]> =>
	await Promise.all(Array.from({ length: times }, (_, n) => (services[n % services.length] ?? api).call(path, { key })));
const throttled = (answers: readonly Answer[]): number => answers.filter((one) => one.status === 429).length;

test('a caller above its rate is answered 429 with Retry-After before the body is read, and others are not', async () => {
	const key = await freshKey();
	const answers = await burst([api], key, 60);
	// Windows are whole seconds: a burst may touch a few of them.
	expect(throttled(answers)).toBeGreaterThan(0);
	const refused = answers.find((one) => one.status === 429);
	expect(refused?.body).toMatchObject({ code: 'rate-limited', detail: expect.stringContaining('10 requests') });
	expect(refused?.headers.get('retry-after')).toBe('1');
	expect((await api.call('/v1/messages', { key: await freshKey() })).status).toBe(200);
	const unread = await eventually(async () => {
		const posts = await Promise.all(Array.from({ length: 30 }, () => api.call('/v1/mails', { key, raw: '{' })));
		return posts.find((one) => one.status === 429);
	});
	expect(unread.body.code).toBe('rate-limited');
	expect(await api.metrics.registry.metrics()).toMatch(/^tidings_api_throttled_total [1-9]/m);
});

test('what needs no credential is not throttled', async () => {
	const answers = await Promise.all(Array.from({ length: 40 }, () => api.call('/openapi.json', { key: null })));
	expect(new Set(answers.map((one) => one.status))).toEqual(new Set([200]));
});

test('a rate of the tenant goes before the one of all, upwards and downwards', async () => {
	const set = async (rate: number | null) =>
		await api.db.pool.query(`update tenant set settings = jsonb_build_object('apiRatePerSecond', $2::int) where id = $1`, [
			api.tenantId,
			rate,
		]);
	await set(100_000);
	const rich = await freshKey();
	await set(1);
	const poor = await freshKey();
	await set(null);
	const plain = await freshKey();
	// What a key's tenant has set is read with the key, and remembered with it.
	await set(100_000);
	expect(throttled(await burst([api], rich, 1))).toBe(0);
	expect(throttled(await burst([api], rich, 60))).toBe(0);
	await set(1);
	expect((await eventually(async () => (await burst([api], poor, 10)).find((one) => one.status === 429))).body.detail).toContain(
		'1 request a second',
	);
	await set(null);
	expect((await eventually(async () => (await burst([api], plain, 40)).find((one) => one.status === 429))).body.detail).toContain(
		'10 requests',
	);
});

test('two services count together in Redis; when it is killed each serves on and counts by itself', async () => {
	// Each by itself would let 20 of 40 in at least.
	const together = await eventually(
		async () => {
			const answers = await burst([api, twin], await freshKey(), 40);
			return answers.length - throttled(answers) < 20 && answers;
		},
		{ within: 20_000 },
	);
	expect(together.every((one) => [200, 429].includes(one.status))).toBe(true);
	const key = await freshKey();
	await redis.kill();
	const alone = await eventually(async () => {
		const answers = await burst([api, twin], key, 60);
		return throttled(answers) > 0 && answers.some((one) => one.status === 200) && answers;
	});
	expect(alone.every((one) => [200, 429].includes(one.status))).toBe(true);
	const told = api.log.filter((line) => line.includes('Redis is away'));
	expect(told).toHaveLength(1);
	await redis.restart();
});

test('it starts and serves without Redis, and throttles', async () => {
	const alone = await startApi({ databaseUrl: api.databaseUrl, keys: api, callers: { ratePerSecond: 5, redisUrl: 'redis://127.0.0.1:1' } });
	try {
		const key = await freshKey(alone);
		const answers = await eventually(async () => {
			const some = await burst([alone], key, 30);
			return throttled(some) > 0 && some;
		});
		expect(answers.some((one) => one.status === 200)).toBe(true);
	} finally {
		await alone.stop();
	}
});
