import { monotonic } from '@tidings/model';

/** What was read may be this old: a revoked key stops within 30 s everywhere. */
const REMEMBER_MS = 15_000;
/** Remembered entries at most. */
const REMEMBER_MOST = 10_000;

/** Things that were looked up lately. */
export type Memory<T> = {
	/** The thing with this id: at once when it is remembered, else by a promise; null when there is none. */
	get(id: string): T | Promise<T | null>;
	/** Has the next caller look it up again. A look-up that is under way answers who asked for it, and is not remembered. */
	forget(id: string): void;
	/** The same for all. */
	forgetAll(): void;
};

/** Remembers what was found for a while; what was not found is asked for again. Callers that ask at the same time share one look-up. */
export function createMemory<T>(find: (id: string) => Promise<T | null>): Memory<T> {
	const known = new Map<string, { value: T; until: number }>();
	const asked = new Map<string, Promise<T | null>>();
	const ask = (id: string): Promise<T | null> => {
		// Counted from before the look-up: what it saw may have changed since.
		const until = monotonic() + REMEMBER_MS;
		const asking: Promise<T | null> = find(id).then(
			(value) => {
				if (asked.get(id) !== asking) return value;
				asked.delete(id);
				if (known.size >= REMEMBER_MOST) known.clear();
				if (value === null) known.delete(id);
				else known.set(id, { value, until });
				return value;
			},
			(error: unknown) => {
				if (asked.get(id) === asking) asked.delete(id);
				throw error;
			},
		);
		asked.set(id, asking);
		return asking;
	};
	return {
		get: (id) => {
			const hit = known.get(id);
			if (hit !== undefined && hit.until > monotonic()) return hit.value;
			return asked.get(id) ?? ask(id);
		},
		forget: (id) => {
			known.delete(id);
			asked.delete(id);
		},
		forgetAll: () => {
			known.clear();
			asked.clear();
		},
	};
}
