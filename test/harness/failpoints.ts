import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The places in the sources at which a test may break a service. Each is a comment `// failpoint: NAME` on a line of its own, which costs nothing and is nothing in
 * what is shipped; only the copy of the sources that fault tests start has it as a call (failpoints-build.mjs, failpoints-preload.mjs).
 * - `taken`: a publisher has taken entries and not published them yet; `published`: it has, and has not marked them yet
 * - `received`: a sender has messages and has not claimed their records yet; `claimed`: it has one record, before it connects; `sent`: the provider has answered and
 *   nothing is settled yet; `settled`: settled and not acknowledged yet
 * - `archiving`: poison is about to be archived, by the sender that saw it or by dead-letter
 */
export const FAILPOINTS = ['taken', 'published', 'received', 'claimed', 'sent', 'settled', 'archiving'] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

/** What a failpoint does: ends the process as kill -9 does, throws, or waits there until it is disarmed (or for ever). */
export type FailpointAct = 'crash' | 'throw' | 'barrier';

/** The failpoints of some service processes: those that were given `folder`. */
export type Failpoints = {
	/** For TIDINGS_FAILPOINTS. */
	readonly folder: string;
	/** From the `from`th meeting on (default 1, counted from now), `times` times (default: once for a crash, else always). */
	arm(name: Failpoint, act: FailpointAct, options?: { from?: number; times?: number }): void;
	/** How often it was met since it was armed, by all processes together. */
	met(name: Failpoint): number;
	/** It does nothing any more; who waits there goes on. */
	disarm(name: Failpoint): void;
	disarmAll(): void;
	drop(): void;
};

/** Makes failpoints of which none is armed. */
export function makeFailpoints(): Failpoints {
	const folder = mkdtempSync(join(tmpdir(), 'tidings-failpoints-'));
	const meetings = (name: string) => readdirSync(folder).filter((file) => file.startsWith(`${name}.`));
	const clear = (name: string) => {
		for (const file of meetings(name)) rmSync(join(folder, file), { force: true });
	};
	const disarm = (name: Failpoint) => rmSync(join(folder, name), { force: true });
	return {
		folder,
		arm: (name, act, { from = 1, times = act === 'crash' ? 1 : Number.MAX_SAFE_INTEGER } = {}) => {
			clear(name);
			// A service may look at any moment: it sees the whole file or none.
			const draft = join(folder, '.draft');
			writeFileSync(draft, JSON.stringify({ act, from, times }));
			renameSync(draft, join(folder, name));
		},
		met: (name) => meetings(name).length,
		disarm,
		disarmAll: () => FAILPOINTS.forEach(disarm),
		drop: () => rmSync(folder, { recursive: true, force: true }),
	};
}
