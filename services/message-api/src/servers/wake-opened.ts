import { type Db, troubleOf, wakeGates } from '@tidings/db';

/** Has the publishers look at once at what waits behind a gate that was opened. */
export async function wakeOpened(db: Db, gate: string): Promise<void> {
	try {
		await wakeGates(db.pool, [gate]);
	} catch (error) {
		// The commit stands whether or not this hint arrives: the publishers find what sleeps too long by themselves.
		if (troubleOf(error) === 'bug') throw error;
	}
}
