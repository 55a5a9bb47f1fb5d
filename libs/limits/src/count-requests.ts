import { createHash } from 'node:crypto';
import { monotonic } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { openRedis } from './open-redis.js';

/** Counts the requests of each caller, second by second. */
export type RequestCounter = {
	readonly name: string;
	/** Tries once to reach Redis, if there is one; goes on without it. */
	start(): Promise<void>;
	stop(): Promise<void>;
	/** Counts one request. Answers the seconds after which to come again (1 or more), or null when there was room. Never rejects. */
	count(request: CountedRequest): Promise<number | null>;
};

/** Whose request it is, and how many a second it may make. */
export type CountedRequest = { readonly tenantId: string; readonly caller: string; readonly perSecond: number };

/** Where requests are counted. `redisUrl` null: in this process only. */
export type CounterOptions = { readonly redisUrl: string | null; readonly log: Logger };

const PREFIX = 'rl:api';
/** Each caller has limits of its own: the counter counts, and the comparison is made here. */
const UNLIMITED = { keyPrefix: PREFIX, points: Number.MAX_SAFE_INTEGER, duration: 1 };
/** After a failure Redis is left alone for so long: a request does not wait for what has just not come. */
const PAUSE_MS = 1_000;
/** An outage of hours leaves evidence, but no flood. */
const TELL_AGAIN_MS = 5 * 60_000;

/**
 * Makes a counter. With Redis it counts over all processes, under `rl:api:{tenant}:{hash of the caller}`, which lives a second; while Redis is away, each process
 * counts by itself, and a WARN says so at most every five minutes.
 */
export function createRequestCounter({ redisUrl, log }: CounterOptions): RequestCounter {
	const own = new RateLimiterMemory(UNLIMITED);
	const redis = redisUrl === null ? null : openRedis(redisUrl);
	const shared = redis === null ? null : new RateLimiterRedis({ ...UNLIMITED, storeClient: redis.client, rejectIfRedisNotReady: true });
	let pausedUntil = 0;
	let quietUntil = 0;
	const tell = (error: Error | null): void => {
		pausedUntil = monotonic() + PAUSE_MS;
		if (monotonic() < quietUntil) return;
		quietUntil = monotonic() + TELL_AGAIN_MS;
		// The reason only: the client's errors hold the command, and AUTH holds the password.
		log.warn({ reason: redis?.reason() ?? error?.message }, 'Redis is away: each process counts requests by itself');
	};
	const take = async (key: string) => {
		if (shared === null || monotonic() < pausedUntil) return await own.consume(key);
		// One at a time tries it again: what is sent to a Redis that is silent stays in memory, although nobody waits for it any more.
		if (pausedUntil > 0) pausedUntil = monotonic() + PAUSE_MS;
		try {
			const counted = await shared.consume(key);
			pausedUntil = 0;
			return counted;
		} catch (error) {
			tell(error instanceof Error ? error : null);
			return await own.consume(key);
		}
	};
	return {
		name: 'request-counter',
		start: async () => {
			await redis?.connect();
			if (redis !== null && redis.client.status !== 'ready') tell(null);
		},
		stop: async () => redis?.disconnect(),
		count: async ({ tenantId, caller, perSecond }) => {
			const { consumedPoints, msBeforeNext } = await take(`${tenantId}:${hashOf(caller)}`);
			return consumedPoints <= Math.max(1, Math.floor(perSecond)) ? null : Math.max(1, Math.ceil(msBeforeNext / 1_000));
		},
	};
}

function hashOf(caller: string): string {
	return createHash('sha256').update(caller).digest('base64url').slice(0, 22);
}
