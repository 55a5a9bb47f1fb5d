import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { openDb, sweepLeases } from '@tidings/db';
import { createDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, recipient, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { standingOf } from './standing.js';

// Clocks that are wrong, and a database that comes back from last week.

let mesh: Mesh;
let sink: SmtpSink;
let sender: Sender;

beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	await mesh.publish();
	await mesh.send();
});
afterEach(() => void jest.useRealTimers());
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

const HOUR = 3_600_000;
const CLOCKS: readonly (readonly [string, () => number])[] = [
	['an hour behind', () => Date.now() - HOUR],
	['an hour ahead', () => Date.now() + HOUR],
	['a month ahead', () => Date.now() + 31 * 24 * HOUR],
	['at the end of a leap day', () => Date.parse('2028-02-29T23:59:59.900Z')],
	['at the end of summer time', () => Date.parse('2026-10-25T00:59:59.900Z')],
];

/** Only what says which time it is: timers and durations go on. */
function setClock(at: number): void {
	const doNotFake = ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout'] as const;
	const clears = ['clearImmediate', 'clearInterval', 'clearTimeout'] as const;
	jest.useFakeTimers({ now: at, doNotFake: [...doNotFake, ...clears] });
	expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
}

test.each(CLOCKS)(
	'F23 with a clock that is %s mails go out, a lease is swept no sooner, and a retry is due after its delay, by the database’s time',
	async (_, clock) => {
		const held = sink.script({ stage: 'RCPT', to: 'held@example.com', times: 1, answer: { kind: 'hang' } });
		const [sending = ''] = await acceptRecords(mesh.db, [newRecord(sender, { recipients: [recipient('held@example.com')] })]);
		await held.met();
		setClock(clock());
		sink.script({ stage: 'RCPT', to: 'later@example.com', times: 1, answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0' } });
		const [sent = '', later = ''] = await acceptRecords(mesh.db, [
			newRecord(sender),
			newRecord(sender, { recipients: [recipient('later@example.com')] }),
		]);
		await eventually(async () => (await standingOf(mesh.db, sent)).status === 'SENT', { what: 'a mail to be sent' });
		await eventually(async () => (await standingOf(mesh.db, later)).status === 'RETRY', { what: 'a mail to be put off' });
		expect(await sweepLeases(mesh.db.pool, 100)).toEqual([]);
		const { rows } = await mesh.db.pool.query<{ delay: number; kept: number }>(
			`select extract(epoch from s.due_at - a.finished_at)::float8 as delay, extract(epoch from s.not_after - now())::float8 / 3600 as kept
		from send_state s join delivery_attempt a using (id) where s.id = $1`,
			[later],
		);
		expect(rows[0]?.delay).toBeGreaterThan(14);
		expect(rows[0]?.delay).toBeLessThan(46);
		expect(Math.round(rows[0]?.kept ?? 0)).toBe(72);
		held.release();
		await eventually(async () => (await standingOf(mesh.db, sending)).status === 'SENT', { what: 'the mail that was being sent' });
		expect(await standingOf(mesh.db, sending)).toMatchObject({ attemptNo: 1, ambiguous: false });
	},
);

test('F47 K16 a backup of last week that is restored, and runs, sends nothing of then again: it ends EXPIRED, is counted, and listed as letters', async () => {
	const before = await createDatabase();
	const old = openDb({ url: before.url, name: 'old' });
	const there = await makeSender(old, { host: sink.host, port: sink.port });
	const ids = await acceptRecords(
		old,
		Array.from({ length: 20 }, () => newRecord(there)),
	);
	// As they stood when the backup was taken: some published, some tried before.
	await old.pool.query(`update outbox_entry set status = 'PUBLISHING', taken = true, lease_until = now() where id = any($1)`, [
		ids.slice(0, 10),
	]);
	await old.pool.query(`update outbox_entry set status = 'PUBLISHED', published_at = now(), lease_until = now() where id = any($1)`, [
		ids.slice(0, 5),
	]);
	await old.pool.query(`
		update send_state set due_at = due_at - interval '7 days', not_after = not_after - interval '7 days';
		update outbox_entry set due_at = due_at - interval '7 days', lease_until = lease_until - interval '7 days';
		update flow set next_at = next_at - interval '7 days'`);
	await old.close();
	const restored = await makeMesh(before.url);
	await restored.publish({ healSeconds: 1 });
	await restored.send();
	// Who sends today is served, so the services are at work.
	const [today = ''] = await acceptRecords(restored.db, [newRecord(there)]);
	await eventually(async () => (await standingOf(restored.db, today)).status === 'SENT', { what: 'a new mail to be sent' });
	const expired = `select count(*)::int as n from send_state where status = 'EXPIRED' and id = any($1)`;
	await eventually(async () => (await restored.db.pool.query(expired, [ids])).rows[0]?.n === 20, { what: 'all to be EXPIRED' });
	expect(sink.mails.filter(({ messageId }) => ids.some((id) => messageId.includes(id)))).toEqual([]);
	// Counted right after the commit.
	const counted = 'tidings_dead_letters_total{source="EXPIRED",channel="mail"} 20\n';
	await eventually(async () => (await restored.metrics.registry.metrics()).includes(counted), { what: 'the letters to be counted' });
	const { rows } = await restored.db.pool.query('select record_id from dead_letter_message where source = $1', ['EXPIRED']);
	expect(rows.map(({ record_id }) => record_id).sort()).toEqual(ids.toSorted());
	expect((await restored.db.pool.query('select from outbox_entry')).rowCount).toBe(0);
	await restored.close();
	await before.drop();
});
