import type { AcceptResult } from '@tidings/db';
import { monotonic } from '@tidings/model';
import type { WaitingCaller } from '../accept-queue.js';

/** Which quotas had no room a moment ago. */
export type FullQuotas = {
	/** Parts callers into those whose quotas have room as far as is known, and the others. */
	part(callers: readonly WaitingCaller[]): { readonly free: readonly WaitingCaller[]; readonly careful: readonly WaitingCaller[] };
	/** Remembers a caller's quotas when there was no room for it. */
	note(caller: WaitingCaller, result: AcceptResult | undefined): void;
};

/** Milliseconds after which a quota is tried again as if it had room. */
const REMEMBER_MS = 5_000;
const MOST = 10_000;

/** Makes the memory. It only decides who shares a transaction with whom, so that those who are over their quota cost the others nothing; what is true stands in the database. */
export function rememberFullQuotas(): FullQuotas {
	const until = new Map<string, number>();
	const isFull = (key: string, at: number): boolean => {
		const end = until.get(key);
		if (end !== undefined && end <= at) until.delete(key);
		return end !== undefined && end > at;
	};
	return {
		part: (callers) => {
			if (until.size === 0) return { free: callers, careful: [] };
			const at = monotonic();
			const careful = callers.filter((caller) => quotasOf(caller).some((key) => isFull(key, at)));
			const others = new Set(careful);
			return { free: callers.filter((caller) => !others.has(caller)), careful };
		},
		note: (caller, result) => {
			if (result?.kind !== 'over-quota') return;
			if (until.size >= MOST) until.clear();
			for (const key of quotasOf(caller)) until.set(key, monotonic() + REMEMBER_MS);
		},
	};
}

function quotasOf({ request }: WaitingCaller): string[] {
	return request.records.map(({ scope, tenantId, channel }) => (scope === 'PLATFORM' ? channel : `${channel} ${tenantId}`));
}
