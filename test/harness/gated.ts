import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { claimRecords, closeGates, type Db, type GateClosing, markPublished, openDb, takeEntries, wakeGates } from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase, type TestDatabase } from './database.js';
import { acceptRecords, makeSender, newRecord, type Sender } from './records.js';

// A config with its gate, and its records on their way: for tests of the statements that move them.

let database: TestDatabase;
export let db: Db;
export let sender: Sender;
beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
});
beforeEach(async () => {
	await db.pool.query('truncate outbox_entry, flow, send_state, send_record, send_payload, send_recipient, gate');
	sender = await makeSender(db);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

export const PACE = { probeSeconds: 30 };
/** A provider's no. */
export const ERROR = {
	at: '2026-12-01T00:00:00.000Z',
	recordId: null,
	category: 'AUTH',
	stage: 'AUTH',
	code: '535',
	enhancedCode: '5.7.8',
	text: 'no',
};
const closing = (change: Partial<GateClosing> = {}): GateClosing => ({
	configId: sender.configId,
	version: 1,
	reason: 'AUTH',
	detail: '535 5.7.8 no',
	seconds: null,
	error: ERROR,
	...change,
});
/** Closes the gate. */
export const close = async (change: Partial<GateClosing> = {}): Promise<string[]> =>
	(await closeGates(db.pool, [closing(change)], PACE)).map((one) => one.configId);

/** How the gate stands. */
export async function gate(): Promise<Record<string, unknown>> {
	const { rows } = await db.pool.query(
		`select closed_until::text as until, reason, detail, half_open, trial_until > now() as trying, failures, version, last_error,
			extract(epoch from probe_at - now())::float8 as probe from gate where id = $1`,
		[sender.configId],
	);
	return rows[0] ?? {};
}

/** Accepts records and publishes them. */
export async function published(count: number): Promise<string[]> {
	const ids = await acceptRecords(
		db,
		Array.from({ length: count }, () => newRecord(sender)),
	);
	await wakeGates(db.pool, [sender.configId]);
	await publish();
	return ids;
}

/** Publishes what is due; answers what that was. */
export async function publish(): Promise<string[]> {
	const options = { shares: { urgent: 100, normal: 100, bulk: 100 }, window: 200, leaseSeconds: 30 };
	const taken = await takeEntries(db.pool, options);
	const [first] = taken;
	if (first !== undefined) await markPublished(db.pool, { ids: taken.map((one) => one.id), lease: first.lease }, 600);
	return taken.map((one) => one.id).sort();
}

/** Claims records. */
export async function claim(ids: readonly string[]) {
	const keys = ids.map((recordId) => ({ recordId, ...sender }));
	return await claimRecords(db.pool, keys, { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'w', claim: newId() });
}

/** How all records and their outbox entries stand. */
export async function standing(): Promise<unknown[]> {
	const { rows } = await db.pool.query(
		`select s.status, s.waits, s.budget_used as burnt, s.attempt_no as attempts, o.status as entry from send_state s left join outbox_entry o using (id) order by s.id`,
	);
	return rows;
}
