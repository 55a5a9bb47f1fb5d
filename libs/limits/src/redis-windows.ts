import { openRedis } from './open-redis.js';
import type { Denial, RateWindows, WindowRequest, WindowUse } from './rate-windows.js';
import { READ_WINDOWS, TAKE_WINDOWS } from './take-windows.js';

/**
 * Rate windows in Redis, shared by every process that sends. Keys: `rl:{channel}:{min|daily}:{owner}:{config}:{number of the window since 1970, UTC}`; they are made in the script, so a
 * Redis Cluster cannot be used. A connection that is lost is tried again without end.
 */
export function openRateWindows({ redisUrl }: { readonly redisUrl: string }): RateWindows {
	const redis = openRedis(redisUrl);
	const run = async (script: string, args: readonly (string | number)[]): Promise<unknown> => {
		try {
			return await redis.client.eval(script, 0, ...args);
		} catch (error) {
			// The reason only: the client's errors hold the command, and that of a lost connection may hold the password.
			throw new Error(`Redis cannot count the rate limits: ${redis.reason() ?? reasonOf(error)}`);
		}
	};
	const take = async (requests: readonly WindowRequest[]): Promise<(Denial | null)[]> => {
		const answers = await run(
			TAKE_WINDOWS,
			requests.flatMap((one) => [idOf(one), one.channel.toLowerCase(), one.cost, one.perMinute ?? 0, one.perDay ?? 0]),
		);
		if (!Array.isArray(answers) || answers.length !== requests.length)
			throw new Error('Redis cannot count the rate limits: its answer is odd');
		return answers.map((answer: unknown) => (isDenial(answer) ? { window: answer[0], opensInMs: answer[1] } : null));
	};
	return {
		name: 'redis',
		start: () => redis.connect(),
		stop: async () => redis.disconnect(),
		health: async () => void (await take([])),
		take,
		read: async (config) => {
			const answers = await run(READ_WINDOWS, [idOf(config), config.channel.toLowerCase()]);
			const [minute, minuteEnd, day, dayEnd] = (Array.isArray(answers) ? answers : []).map(Number);
			return [
				useOf('min', config.perMinute, { used: minute, end: minuteEnd }),
				useOf('daily', config.perDay, { used: day, end: dayEnd }),
			].filter((one) => one !== null);
		},
	};
}

function idOf({ tenantId, configId }: Pick<WindowRequest, 'tenantId' | 'configId'>): string {
	return `${tenantId}:${configId}`;
}

function isDenial(answer: unknown): answer is ['min' | 'daily', number] {
	return Array.isArray(answer) && (answer[0] === 'min' || answer[0] === 'daily') && typeof answer[1] === 'number';
}

function useOf(
	window: WindowUse['window'],
	limit: number | null,
	{ used = 0, end = 0 }: { used: number | undefined; end: number | undefined },
): WindowUse | null {
	if (limit === null) return null;
	return { window, limit, used, left: Math.max(0, limit - used), resetsAt: new Date(end) };
}

/** Redis' own words for what it refuses (`READONLY`, `OOM`), or the client's for a time that is over. */
function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message.slice(0, 200) : 'it did not answer';
}
