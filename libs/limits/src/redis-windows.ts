import { newId } from '@tidings/model';
import { openRedis } from './open-redis.js';
import type { RateWindows, Room, WindowAnswer, WindowRequest, WindowUse } from './rate-windows.js';
import { GIVE_BACK, READ_WINDOWS, TAKE_WINDOWS } from './take-windows.js';

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
	const taker = newId();
	const take = async (name: string, requests: readonly WindowRequest[]): Promise<WindowAnswer[]> => {
		const answers = await run(TAKE_WINDOWS, [
			taker,
			name,
			...requests.flatMap((one) => [idOf(one), one.channel.toLowerCase(), one.cost, one.perMinute ?? 0, one.perDay ?? 0]),
		]);
		if (!Array.isArray(answers) || answers.length !== requests.length + 2)
			throw new Error('Redis cannot count the rate limits: its answer is odd');
		const [minute, day, ...denials] = answers;
		return requests.map((request, n) => {
			const denial: unknown = denials[n];
			if (isDenial(denial)) return { denial: { window: denial[0], opensInMs: denial[1], shut: denial[2] === 1 } };
			return { room: roomOf(request, { min: Number(minute), daily: Number(day) }) };
		});
	};
	return {
		name: 'redis',
		start: () => redis.connect(),
		stop: async () => redis.disconnect(),
		health: async () => void (await take('', [])),
		take,
		giveBack: async (rooms) => {
			const args = rooms.flatMap((room) => room.flatMap(({ key, share }) => [key, share]));
			if (args.length > 0) await run(GIVE_BACK, args);
		},
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

/** What a request takes, as the script counts it. */
function roomOf(request: WindowRequest, numbers: Readonly<Record<WindowUse['window'], number>>): Room {
	const { channel, cost, perMinute, perDay } = request;
	return (
		[
			['min', perMinute],
			['daily', perDay],
		] as const
	).flatMap(([window, limit]) =>
		limit === null
			? []
			: [{ key: `rl:${channel.toLowerCase()}:${window}:${idOf(request)}:${numbers[window]}`, share: Math.min(cost, limit) }],
	);
}

function isDenial(answer: unknown): answer is ['min' | 'daily', number, 0 | 1] {
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
