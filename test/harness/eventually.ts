/** How long `eventually` tries, in milliseconds, and what the condition is called in its failure. */
export type EventuallyOptions = { readonly within?: number; readonly what?: string };

/**
 * Calls `probe` again and again until it answers something that is not false, null or undefined, and answers that. A probe may also throw, as `expect`
 * does. Rejects after `within` (default 10,000 ms) with the last answer or error, and how often and how long it tried.
 */
export async function eventually<T>(
	probe: () => T | Promise<T>,
	options: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
	const { within = 10_000, what = 'the condition' } = options;
	const start = performance.now();
	for (let tries = 1; ; tries++) {
		const seen = await look(probe);
		if (seen.kind === 'answer' && holds(seen.value)) return seen.value;
		const elapsed = performance.now() - start;
		if (elapsed < within) {
			// Quick at first, then easy on the processor.
			await new Promise((resolve) => setTimeout(resolve, Math.min(5 * tries, 100)));
			continue;
		}
		const last =
			seen.kind === 'error' ? `it threw ${describe(seen.error)}` : `it answered ${JSON.stringify(seen.value) ?? String(seen.value)}`;
		const cause = seen.kind === 'error' ? { cause: seen.error } : {};
		throw new Error(`Waited ${Math.round(elapsed)} ms (${tries} tries) for ${what}; at last ${last}`, cause);
	}
}

type Seen<T> = { kind: 'answer'; value: T } | { kind: 'error'; error: unknown };

async function look<T>(probe: () => T | Promise<T>): Promise<Seen<T>> {
	try {
		return { kind: 'answer', value: await probe() };
	} catch (error) {
		return { kind: 'error', error };
	}
}

function holds<T>(value: T): value is Exclude<T, false | null | undefined> {
	return value !== false && value !== null && value !== undefined;
}

function describe(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
