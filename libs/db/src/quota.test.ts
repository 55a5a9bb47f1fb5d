import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type MonthlyCaps, NO_CAPS } from '@tidings/model';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { makeSender, newRecord, recipient, type Sender } from '../../../test/harness/records.js';
import { type AcceptOptions, type AcceptOutcome, acceptBatch } from './accept-batch.js';
import type { NewRecord } from './accepting.js';
import { type Db, openDb } from './client.js';
import { ensureFlows } from './statements/ensure-flows.js';

let database: TestDatabase;
let db: Db;
let sender: Sender;
const open: Db[] = [];

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
	open.push(db);
	// The clock of connections that look here first.
	await db.pool.query(`
		create schema clock;
		create table clock.hand (at timestamptz not null);
		create function clock.now() returns timestamptz language sql stable as 'select at from clock.hand'`);
});
afterAll(async () => {
	for (const one of open) await one.close();
	await database.drop();
});

const capped = (mail: number | null): MonthlyCaps => ({ ...NO_CAPS, MAIL: mail });
const mails = (n: number, change: Partial<NewRecord> = {}): NewRecord[] => Array.from({ length: n }, () => newRecord(sender, change));
/** A tenant of its own for each test. */
const newSender = async (): Promise<void> => {
	sender = await makeSender(db);
};

async function accept(requests: readonly (readonly NewRecord[])[], options: AcceptOptions, on: Db = db): Promise<AcceptOutcome> {
	const flows = await ensureFlows(db.pool, [{ tenantId: sender.tenantId, gate: sender.configId, lane: 'normal', route: 'mail-send' }]);
	const flowing = requests.map((records) => ({
		records: records.map((record) => ({ ...record, flowId: flows[0] ?? '' })),
		idempotency: null,
	}));
	return await acceptBatch(on.pool, flowing, options);
}

const kindsOf = ({ results }: AcceptOutcome): string[] => results.map((one) => one.kind);

async function usage(): Promise<unknown[]> {
	const { rows } = await db.pool.query(
		`select to_char(month, 'YYYY-MM') as month, used::int, cap::int from tenant_message_usage where tenant_id = $1 order by 1`,
		[sender.tenantId],
	);
	return rows;
}

async function recount(): Promise<number> {
	const { rows } = await db.pool.query<{ n: number }>('select count(*)::int as n from send_recipient where tenant_id = $1', [
		sender.tenantId,
	]);
	return rows[0]?.n ?? 0;
}

test('who comes first is served first; who finds no room is refused whole, and those after it that fit are not', async () => {
	await newSender();
	const two = [recipient('ann@example.com'), recipient('bo@example.com', 'cc')];
	const requests = [mails(3), mails(1, { recipients: two }), mails(4), mails(1)];
	const outcome = await accept(requests, { caps: capped(6) });
	expect(kindsOf(outcome)).toEqual(['accepted', 'accepted', 'over-quota', 'accepted']);
	const month = expect.stringMatching(/^\d{4}-\d\d$/);
	expect(outcome.results[2]).toEqual({
		kind: 'over-quota',
		channel: 'MAIL',
		scope: 'TENANT',
		month,
		used: 5,
		cap: 6,
		cost: 4,
		index: 1,
	});
	expect(outcome.warnings.map((one) => [one.level, one.used, one.cap])).toEqual([
		[80, 6, 6],
		[100, 6, 6],
	]);
	expect(await usage()).toEqual([{ month, used: 6, cap: 6 }]);
	expect(await recount()).toBe(6);
});

test('a refused caller leaves no dedupe key behind: the same message by a later caller is new', async () => {
	await newSender();
	const twin = (): NewRecord => newRecord(sender, { dedupeKey: 'a:MAIL:x' });
	const outcome = await accept([[twin(), ...mails(2)], [twin()], [twin()]], { caps: capped(2) });
	expect(outcome.results).toMatchObject([
		{ kind: 'over-quota', used: 0, cost: 3, index: 2 },
		{ kind: 'accepted', deduplicated: [] },
		{ kind: 'accepted', deduplicated: [0] },
	]);
	expect(await recount()).toBe(1);
});

test('F32 what is taken by a transaction that fails at its commit is given back', async () => {
	await newSender();
	await db.pool.query(`
		create function refuse_commit() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
		create constraint trigger refuse_commit after insert or update on tenant_message_usage deferrable initially deferred
		for each row when (new.tenant_id = '${sender.tenantId}') execute function refuse_commit()`);
	for (const careful of [false, true])
		await expect(accept([mails(2), mails(1, { dedupeKey: 'b:MAIL:x' })], { caps: capped(3), careful })).rejects.toThrow('no');
	expect([await usage(), await recount()]).toEqual([[], 0]);
	await db.pool.query('drop trigger refuse_commit on tenant_message_usage');
	expect(kindsOf(await accept([mails(3), mails(1)], { caps: capped(3) }))).toEqual(['accepted', 'over-quota']);
});

test('F33 while the first row of a month is missing, transactions that come together make one, and take no more than the cap', async () => {
	await newSender();
	const outcomes = await Promise.all(Array.from({ length: 8 }, (_, n) => accept([mails(2)], { caps: capped(7), careful: n % 2 === 0 })));
	expect(outcomes.flatMap(kindsOf).sort()).toEqual([...Array(3).fill('accepted'), ...Array(5).fill('over-quota')]);
	expect([await usage(), await recount()]).toEqual([[expect.objectContaining({ used: 6 })], 6]);
});

test('F33 a cap that is raised gives room at once, one that is lowered below what is used refuses, and each row remembers the cap that held', async () => {
	await newSender();
	const set = async (cap: number | null): Promise<unknown> =>
		await db.pool.query(
			`insert into tenant_message_quota (tenant_id, channel, cap) values ($1, 'MAIL', $2) on conflict (tenant_id, channel) do update set cap = excluded.cap`,
			[sender.tenantId, cap],
		);
	await set(2);
	expect(kindsOf(await accept([mails(2), mails(1)], { caps: capped(100) }))).toEqual(['accepted', 'over-quota']);
	await set(3);
	expect(kindsOf(await accept([mails(1)], { caps: capped(0) }))).toEqual(['accepted']);
	await set(1);
	expect((await accept([mails(1)], {})).results).toMatchObject([{ kind: 'over-quota', used: 3, cap: 1 }]);
	expect(await usage()).toMatchObject([{ used: 3, cap: 3 }]);
	await set(null);
	expect(kindsOf(await accept([mails(9)], { caps: capped(0) }))).toEqual(['accepted']);
	expect(await usage()).toMatchObject([{ used: 12, cap: null }]);
});

test.each([['Etc/UTC'], ['Pacific/Kiritimati'], ['Etc/GMT+12']])(
	'F33 the month turns at midnight in UTC, also for sessions in %s; the new one begins empty',
	async (zone) => {
		await newSender();
		const options = encodeURIComponent(`-c search_path=clock,pg_catalog,public -c timezone=${zone}`);
		const there = openDb({ url: `${database.url}${database.url.includes('?') ? '&' : '?'}options=${options}`, name: 'test' });
		open.push(there);
		const at = async (time: string): Promise<void> => {
			await db.pool.query('delete from clock.hand');
			await db.pool.query('insert into clock.hand values ($1)', [time]);
		};
		await at('2026-11-30T23:59:59.900Z');
		expect(kindsOf(await accept([mails(2), mails(1)], { caps: capped(2) }, there))).toEqual(['accepted', 'over-quota']);
		await at('2026-12-01T00:00:00.000Z');
		const outcome = await accept([mails(1)], { caps: capped(2), careful: true }, there);
		expect(outcome).toMatchObject({ results: [{ kind: 'accepted', createdAt: '2026-12-01T00:00:00.000Z' }], warnings: [] });
		expect(await usage()).toEqual([
			{ month: '2026-11', used: 2, cap: 2 },
			{ month: '2026-12', used: 1, cap: 2 },
		]);
	},
);

test('what counts beyond a quota is never refused, is warned of by the cap that holds, and leaves no room for others', async () => {
	await newSender();
	const beyond = { caps: capped(1), beyond: true };
	const first = await accept([mails(2)], beyond);
	expect([kindsOf(first), first.warnings.map((one) => [one.level, one.used, one.cap])]).toEqual([
		['accepted'],
		[
			[80, 2, 1],
			[100, 2, 1],
		],
	]);
	expect(kindsOf(await accept([mails(1)], { caps: capped(1) }))).toEqual(['over-quota']);
	const second = await accept([mails(3, { dedupeKey: null }), mails(1, { dedupeKey: 'beyond:MAIL:x' })], { ...beyond, careful: true });
	expect([kindsOf(second), second.warnings]).toEqual([['accepted', 'accepted'], []]);
	expect([await usage(), await recount()]).toEqual([[expect.objectContaining({ used: 6, cap: 6 })], 6]);
	expect(kindsOf(await accept([mails(2)], { caps: capped(9) }))).toEqual(['accepted']);
	expect(await usage()).toMatchObject([{ used: 8, cap: 9 }]);
	expect(kindsOf(await accept([mails(1)], { beyond: true }))).toEqual(['accepted']);
	expect(await usage()).toMatchObject([{ used: 9, cap: null }]);
});

test('without a cap everything is counted and nothing refused or warned of', async () => {
	await newSender();
	const outcome = await accept([mails(250), mails(250)], {});
	expect([kindsOf(outcome), outcome.warnings]).toEqual([['accepted', 'accepted'], []]);
	expect(await usage()).toMatchObject([{ used: 500, cap: null }]);
});
