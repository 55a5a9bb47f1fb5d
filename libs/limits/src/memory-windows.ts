import { now } from '@tidings/model';
import type { Denial, RateWindows, WindowRequest, WindowUse } from './rate-windows.js';

type Name = WindowUse['window'];
type Counted = { number: number; used: number };

const LENGTH_MS: Record<Name, number> = { min: 60_000, daily: 86_400_000 };

/** Rate windows in the memory of this process: right only where one process sends, as in standalone. A restart forgets them. The rule is that of `openRateWindows`. */
export function createMemoryWindows(): RateWindows {
	const counts = new Map<string, Counted>();
	const countOf = (config: Pick<WindowRequest, 'configId'>, window: Name): Counted => {
		const key = `${window}:${config.configId}`;
		const number = Math.floor(now().getTime() / LENGTH_MS[window]);
		const known = counts.get(key);
		if (known?.number === number) return known;
		const fresh = { number, used: 0 };
		counts.set(key, fresh);
		return fresh;
	};
	const take = (request: WindowRequest): Denial | null => {
		const wanted = windowsOf(request).map(({ window, limit }) => ({
			window,
			limit,
			share: Math.min(request.cost, limit),
			counted: countOf(request, window),
		}));
		const full = wanted.findLast(({ counted, share, limit }) => counted.used + share > limit);
		if (full !== undefined) {
			return { window: full.window, opensInMs: (full.counted.number + 1) * LENGTH_MS[full.window] - now().getTime() };
		}
		for (const { counted, share } of wanted) counted.used += share;
		return null;
	};
	return {
		name: 'rate-windows',
		start: async () => undefined,
		stop: async () => undefined,
		health: async () => undefined,
		take: async (requests) => {
			const full = new Map<string, Denial>();
			return requests.map((request) => {
				const denial = full.get(request.configId) ?? take(request);
				if (denial !== null) full.set(request.configId, denial);
				return denial;
			});
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
