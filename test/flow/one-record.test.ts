import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archivePoisons, claimRecords, type Db, expireRecords, handOver, openDb, settleRecords, sweepLeases } from '@tidings/db';
import { newId } from '@tidings/model';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { acceptRecords, makeSender, newRecord, type Sender, settlementOf } from '../harness/records.js';
import { ACTORS, mark, type Subject } from './actors.js';
import { brokenLaws, standingOf } from './standing.js';

// F34, F35: every two actors on one record, in both orders, with the row held by a second connection until both have come to it.

let database: TestDatabase;
let db: Db;
let blocker: pg.Client;
let resending: Sender;
let holding: Sender;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test', connections: 8 });
	blocker = new pg.Client({ connectionString: database.url });
	await blocker.connect();
	resending = await makeSender(db);
	holding = await makeSender(db, { onAmbiguous: 'hold' });
});
afterAll(async () => {
	await blocker.end();
	await db.close();
	await database.drop();
});

async function pending(sender = resending): Promise<Subject> {
	const [id] = await acceptRecords(db, [newRecord(sender)]);
	if (id === undefined) throw new Error('nothing was accepted');
	return { id, sender, claim: null };
}

async function sending(sender = resending): Promise<Subject> {
	const subject = await pending(sender);
	const { claimed } = await claimRecords(db.pool, [{ recordId: subject.id, tenantId: sender.tenantId, configId: sender.configId }], {
		channel: 'MAIL',
		route: 'mail-send',
		leaseSeconds: 120,
		worker: 'first',
		claim: newId(),
	});
	return { ...subject, claim: claimed[0] ?? null };
}

async function leaseOver(subject: Subject): Promise<Subject> {
	await db.pool.query(`update send_state set lease_until = now() - interval '1 second' where id = $1`, [subject.id]);
	return subject;
}

async function swept(subject: Subject): Promise<Subject> {
	await leaseOver(subject);
	await sweepLeases(db.pool, 100);
	return subject;
}

async function marked(): Promise<Subject> {
	const subject = await sending(holding);
	if (subject.claim === null || !(await handOver(db.pool, subject.claim))) throw new Error('the mark was not made');
	return subject;
}

async function settled(to: 'RETRY' | 'DEAD_LETTER' | 'FAILED' | 'SENT'): Promise<Subject> {
	const subject = await sending();
	if (subject.claim === null) throw new Error('nothing was claimed');
	await settleRecords(db.pool, [settlementOf(subject.claim, to, { delaySeconds: to === 'RETRY' ? 3600 : 0 })]);
	return { ...subject, claim: null };
}

async function tooLate(subject: Subject): Promise<Subject> {
	await db.pool.query(`update send_state set not_after = now() - interval '1 second' where id = $1`, [subject.id]);
	return subject;
}

const SCENES: Readonly<Record<string, () => Promise<Subject>>> = {
	'is due': pending,
	'is not due yet': () => settled('RETRY'),
	'is being sent': sending,
	'is being sent under hold': () => sending(holding),
	'has lost its worker under hold': async () => await leaseOver(await sending(holding)),
	'has lost its worker': async () => await leaseOver(await sending()),
	'has lost its worker after the hand-over': async () => await leaseOver(await marked()),
	'was swept while its worker still works': async () => await swept(await sending()),
	'is held while its worker still works': async () => await swept(await marked()),
	'is a dead letter': () => settled('DEAD_LETTER'),
	'has failed': () => settled('FAILED'),
	'was sent': () => settled('SENT'),
	'came too late': async () => await tooLate(await pending()),
	'came too late while its worker still works': async () => await tooLate(await swept(await sending())),
};

/** Resolves when the act waits for a lock, or has ended without one. */
async function atTheBarrier(waiting: number, act: Promise<unknown>, what = 'an act'): Promise<void> {
	let ended = false;
	void act.finally(() => {
		ended = true;
	});
	await eventually(async () => ended || (await locksAwaited()) >= waiting, { what: `${what} at the barrier` });
}

async function locksAwaited(): Promise<number> {
	const { rows } = await db.pool.query<{ n: number }>(
		`select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
	);
	return rows[0]?.n ?? 0;
}

/** The mark before the hand-over stands among them, though it moves nothing: it decides who may send. */
const ALL = { ...ACTORS, mark };

for (const [scene, make] of Object.entries(SCENES)) {
	test(`F34 a record that ${scene}: of every two actors each wins or loses whole, in either order`, async () => {
		const faults: string[] = [];
		for (const [first, one] of Object.entries(ALL)) {
			for (const [second, other] of Object.entries(ALL)) {
				const subject = await make();
				const before = await standingOf(db, subject.id);
				await blocker.query('begin');
				await blocker.query('select from send_state where id = $1 for update', [subject.id]);
				const acts = [one(db, subject)];
				await atTheBarrier(1, acts[0] ?? Promise.resolve(), first);
				const held = await locksAwaited();
				acts.push(other(db, subject));
				await atTheBarrier(held + 1, acts[1] ?? Promise.resolve(), `${second} after ${first}`);
				await blocker.query('commit');
				const won = await Promise.all(acts);
				const wins = [first, second].filter((name, index) => name !== 'mark' && won[index] === true).length;
				const after = await standingOf(db, subject.id);
				const broken = brokenLaws(after);
				if (after.version - before.version !== wins) broken.push(`${wins} wins made ${after.version - before.version} moves`);
				// Who was allowed to send and whose lease then ran out: nobody knows, so it is held.
				if (
					first === 'mark' &&
					won[0] === true &&
					second === 'sweeper' &&
					won[1] === true &&
					after.status !== 'HELD' &&
					subject.sender === holding
				)
					broken.push(`marked, swept, and yet ${after.status}`);
				faults.push(...broken.map((fault) => `${first}, then ${second}: ${fault}`));
			}
		}
		expect(faults).toEqual([]);
	}, 60_000);
}

test('F35 K21 a sweeper that saw the lease end and waits finds its record finished and leaves it', async () => {
	const subject = await leaseOver(await sending());
	await blocker.query('begin');
	await blocker.query('select from send_state where id = $1 for update', [subject.id]);
	const success = ACTORS.success?.(db, subject) ?? Promise.resolve(false);
	await atTheBarrier(1, success);
	expect(await ACTORS.sweeper?.(db, subject)).toBe(false);
	await blocker.query('commit');
	expect(await success).toBe(true);
	expect(await ACTORS.sweeper?.(db, subject)).toBe(false);
	expect(await standingOf(db, subject.id)).toMatchObject({ status: 'SENT', attempts: 1, ambiguous: false });
});

test('F34 a worker that settles while the sweep of its record is under way comes late, and its success stands', async () => {
	const subject = await leaseOver(await sending());
	// The sweep has moved the row and waits to write its attempt row, because this one is not committed.
	await blocker.query('begin');
	await blocker.query(
		`insert into delivery_attempt (id, attempt_no, tenant_id, provider, worker, started_at, outcome) values ($1, 1, $2, 'smtp', 'barrier', now(), 'UNKNOWN')`,
		[subject.id, subject.sender.tenantId],
	);
	const sweep = ACTORS.sweeper?.(db, subject) ?? Promise.resolve(false);
	await atTheBarrier(1, sweep);
	const success = ACTORS.success?.(db, subject) ?? Promise.resolve(false);
	await atTheBarrier(2, success);
	await blocker.query('rollback');
	expect(await Promise.all([sweep, success])).toEqual([true, true]);
	expect(await standingOf(db, subject.id)).toMatchObject({ status: 'SENT', ambiguous: true, entries: 0, attempts: 1, budgetUsed: 1 });
});

test('the hand-over mark is lost with the lease, with the claim and with the cancel of a swept record', async () => {
	const late = await leaseOver(await sending(holding));
	expect(await mark(db, late)).toBe(false);
	await swept(late);
	expect(await mark(db, late)).toBe(false);
	expect(await ACTORS.worker?.(db, late)).toBe(true);
	expect(await mark(db, late)).toBe(false);
	const alive = await sending(holding);
	expect(await mark(db, alive)).toBe(true);
});

test('under hold, a lease that ends without the mark is retried unambiguously, and with the mark is held with a letter', async () => {
	const without = await swept(await sending(holding));
	expect(await standingOf(db, without.id)).toMatchObject({
		status: 'RETRY',
		ambiguous: false,
		entries: 1,
		pendingLetters: 0,
		budgetUsed: 1,
	});
	const withMark = await swept(await marked());
	expect(await standingOf(db, withMark.id)).toMatchObject({ status: 'HELD', ambiguous: true, entries: 0, pendingLetters: 1 });
});

test('a late worker loses to a newer claim: only its attempt row tells of it', async () => {
	const subject = await swept(await sending());
	const newer = await claimRecords(
		db.pool,
		[{ recordId: subject.id, tenantId: subject.sender.tenantId, configId: subject.sender.configId }],
		{
			channel: 'MAIL',
			route: 'mail-send',
			leaseSeconds: 120,
			worker: 'second',
			claim: newId(),
		},
	);
	expect(newer.claimed[0]?.attemptNo).toBe(2);
	expect(await ACTORS.success?.(db, subject)).toBe(false);
	expect(await standingOf(db, subject.id)).toMatchObject({ status: 'SENDING', attemptNo: 2 });
	const { rows } = await db.pool.query('select outcome, ambiguous from delivery_attempt where id = $1 and attempt_no = 1', [subject.id]);
	expect(rows).toEqual([{ outcome: 'ACCEPTED', ambiguous: true }]);
});

test('a stale duplicate claims nothing before the due time, and nothing twice at it', async () => {
	const subject = await settled('RETRY');
	expect(await ACTORS.worker?.(db, subject)).toBe(false);
	await db.pool.query('update send_state set due_at = now() where id = $1', [subject.id]);
	const wins = await Promise.all(Array.from({ length: 8 }, () => ACTORS.worker?.(db, subject)));
	expect(wins.filter(Boolean)).toHaveLength(1);
});

test('K36 a claim that is repeated while its first statement is still at work gets what that one claims, under one attempt', async () => {
	const { id, sender } = await pending();
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'first', claim: newId() } as const;
	const claim = () => claimRecords(db.pool, [{ recordId: id, tenantId: sender.tenantId, configId: sender.configId }], claimant);
	await blocker.query('begin');
	await blocker.query('select from send_state where id = $1 for update', [id]);
	const lost = claim();
	await atTheBarrier(1, lost);
	const repeated = claim();
	await atTheBarrier(2, repeated);
	await blocker.query('commit');
	await lost;
	expect((await repeated).claimed).toEqual([expect.objectContaining({ id, attemptNo: 1 })]);
	expect(
		(await claimRecords(db.pool, [{ recordId: id, tenantId: sender.tenantId, configId: sender.configId }], { ...claimant, claim: newId() }))
			.claimed,
	).toEqual([]);
	expect(await standingOf(db, id)).toMatchObject({ status: 'SENDING', attemptNo: 1, version: 1, entries: 0 });
});

test('K28 a message of another tenant claims nothing', async () => {
	const subject = await pending();
	expect(await ACTORS.worker?.(db, { ...subject, sender: holding })).toBe(false);
	expect(await standingOf(db, subject.id)).toMatchObject({ status: 'PENDING', entries: 1 });
});

test('a mail that kills its worker every time ends as a dead letter, with an ambiguous attempt for each claim', async () => {
	const subject = await pending();
	for (let round = 1; round <= 5; round += 1) {
		expect(await ACTORS.worker?.(db, subject)).toBe(true);
		await swept(subject);
	}
	expect(await standingOf(db, subject.id)).toMatchObject({
		status: 'DEAD_LETTER',
		attemptNo: 5,
		budgetUsed: 5,
		attempts: 5,
		pendingLetters: 1,
		ambiguous: true,
	});
	expect(await ACTORS.retry?.(db, subject)).toBe(true);
	expect(await standingOf(db, subject.id)).toMatchObject({ status: 'RETRY', budgetMax: 6, pendingLetters: 0, entries: 1 });
});

/** How a record ends for which a letter is opened, and what that letter says. */
const ENDS: readonly (readonly [string, string, (subject: Subject) => Promise<unknown>])[] = [
	[
		'spends its budget',
		'SEND_EXHAUSTED',
		async ({ claim }) => claim && (await settleRecords(db.pool, [settlementOf(claim, 'DEAD_LETTER')])),
	],
	['is held', 'AMBIGUOUS', async ({ claim }) => claim && (await settleRecords(db.pool, [settlementOf(claim, 'HELD')]))],
	['is found too late by the sweep', 'EXPIRED', async () => await expireRecords(db.pool, 1_000)],
	['is found too late by a claim', 'EXPIRED', async (subject) => await ACTORS.worker?.(db, subject)],
];

test.each(ENDS)('a record that %s gets its own letter (%s) in place of the poison letter that is open about it', async (_, source, end) => {
	const subject = source === 'EXPIRED' ? await tooLate(await pending()) : await sending();
	const topic = 'mail-send-normal';
	const ids = { recordId: subject.id, tenantId: subject.sender.tenantId, traceId: null };
	const [letter] = await archivePoisons(db.pool, [
		{ topic, messageId: newId(), reason: 'the broker gave up', envelope: '{}', channel: 'MAIL', ...ids },
	]);
	expect(letter?.recordId).toBe(subject.id);
	await end(subject);
	const { rows } = await db.pool.query('select source, status, resolution from dead_letter_message where record_id = $1 order by id', [
		subject.id,
	]);
	expect(rows).toEqual([
		{ source: 'BROKER_POISON', status: 'RESOLVED', resolution: 'superseded' },
		{ source, status: 'PENDING', resolution: null },
	]);
	expect(brokenLaws(await standingOf(db, subject.id))).toEqual([]);
});
