import { type Db, noteKeyUse } from '@tidings/db';
import { now } from '@tidings/model';
import { createPoll, type Part } from '@tidings/runtime';
import type { Logger } from '@tidings/telemetry';

/** Gathers which API keys are used. As a part: `stop` writes what it still holds. */
export type KeyUse = Part & {
	/** This key has let a request in. */
	note(keyId: string): void;
};

/** How often uses are written: `lastUsedAt` is about this old. */
const WRITE_MS = 60_000;

/** Makes the note-taker of `lastUsedAt`. No request waits for it: all uses of a minute are one statement, and what could not be written is tried again. */
export function createKeyUse(options: { db: Db; log: Logger; writeMs?: number }): KeyUse {
	const { db, log, writeMs = WRITE_MS } = options;
	let uses = new Map<string, Date>();
	const write = async (): Promise<void> => {
		if (uses.size === 0) return;
		const taken = uses;
		uses = new Map();
		try {
			await noteKeyUse(db.pool, taken);
		} catch (error) {
			// What came meanwhile is later.
			uses = new Map([...taken, ...uses]);
			throw error;
		}
	};
	const poll = createPoll({ name: 'key-use', intervalMs: writeMs, act: write, log });
	return {
		name: poll.name,
		start: poll.start,
		...(poll.quiet === undefined ? {} : { quiet: poll.quiet }),
		stop: async () => {
			await poll.stop();
			await write().catch((error: unknown) => log.warn({ err: error, keys: uses.size }, 'last uses of API keys were not written'));
		},
		note: (keyId) => void uses.set(keyId, now()),
	};
}
