import { now } from '@tidings/model';
import type { RateWindows, WindowAnswer, WindowRequest, WindowUse } from './rate-windows.js';
import { MISFITS_MOST } from './take-windows.js';

type Name = WindowUse['window'];
type Counted = { readonly key: string; readonly number: number; used: number; misfits: number };

const LENGTH_MS: Record<Name, number> = { min: 60_000, daily: 86_400_000 };

/** Rate windows in the memory of this process: right only where one process sends, as in standalone. A restart forgets them. The rule is that of `openRateWindows`. */
export function createMemoryWindows(): RateWindows {
	/** The newest window of each name and config. */
	const counts = new Map<string, Counted>();
	const countOf = ({ configId }: Pick<WindowRequest, 'configId'>, window: Name): Counted => {
		const number = Math.floor(now().getTime() / LENGTH_MS[window]);
		const key = `${window}:${configId}:${number}`;
		const place = `${window}:${configId}`;
		const known = counts.get(place);
		if (known?.key === key) return known;
		const fresh = { key, number, used: 0, misfits: 0 };
		counts.set(place, fresh);
		return fresh;
	};
	const take = (request: WindowRequest): WindowAnswer => {
		const wanted = windowsOf(request).map(({ window, limit }) => ({
			window,
			limit,
			share: Math.min(request.cost, limit),
			counted: countOf(request, window),
		}));
		const small = wanted.find(({ counted, share, limit }) => counted.used + share > limit);
		if (small !== undefined) {
			const { window, counted, limit } = small;
			if (counted.used < limit) counted.misfits += 1;
			const opensInMs = (counted.number + 1) * LENGTH_MS[window] - now().getTime();
			return { denial: { window, opensInMs, shut: counted.used >= limit || counted.misfits > MISFITS_MOST } };
		}
		for (const { counted, share } of wanted) counted.used += share;
		return { room: wanted.map(({ counted, share }) => ({ key: counted.key, share })) };
	};
	return {
		name: 'rate-windows',
		start: async () => undefined,
		stop: async () => undefined,
		health: async () => undefined,
		take: async (_name, requests) => requests.map(take),
		giveBack: async (rooms) => {
			for (const { key, share } of rooms.flat()) {
				const counted = counts.get(key.slice(0, key.lastIndexOf(':')));
				if (counted?.key === key) counted.used = Math.max(0, counted.used - share);
			}
		},
		read: async (config) =>
			windowsOf(config).map(({ window, limit }) => {
				const { number, used } = countOf(config, window);
				return { window, limit, used, left: Math.max(0, limit - used), resetsAt: new Date((number + 1) * LENGTH_MS[window]) };
			}),
	};
}

function windowsOf({ perMinute, perDay }: Pick<WindowRequest, 'perMinute' | 'perDay'>): { window: Name; limit: number }[] {
	return [
		...(perMinute === null ? [] : [{ window: 'min' as const, limit: perMinute }]),
		...(perDay === null ? [] : [{ window: 'daily' as const, limit: perDay }]),
	];
}
