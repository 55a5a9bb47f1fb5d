import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Db, findReplay, insertReplay, inTransaction, nextLetters, openDb, type ReplaySelection, takeReplay } from '@tidings/db';
import { newId } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { replayTurn } from './replay-turn.js';
import { workReplays } from './work-replays.js';

let database: TestDatabase;
let db: Db;
const tenants = [newId(), newId()] as const;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
	for (const id of tenants) await db.prisma.tenant.create({ data: { id, name: id, kind: 'TENANT' } });
});
afterEach(async () => {
	await db.pool.query('drop function if exists refuse_step cascade');
	for (const table of ['dead_letter_replay', 'dead_letter_message', 'send_record', 'send_state'])
		await db.pool.query(`delete from ${table}`);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

const log = createLogger({ service: 'test', level: 'info', destination: { write: () => undefined } });
const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
const work = (): Promise<void> => workReplays({ db, log, metrics }, new AbortController().signal);

async function letters(tenantId: string, count: number): Promise<string[]> {
	const { rows } = await db.pool.query<{ id: string }>(
		`insert into dead_letter_message (id, tenant_id, source, error) select uuid_v7(), $1, 'EXPIRED', 'no' from generate_series(1, $2) returning id`,
		[tenantId, count],
	);
	return rows.map(({ id }) => id).sort();
}

async function start(
	tenantId: string,
	selection: ReplaySelection = { kind: 'filter', filter: {} },
	ratePerSecond = 1_000,
): Promise<string> {
	const id = newId();
	const wish = { id, tenantId, selection, ratePerSecond, note: null, actor: 'key:x', traceId: '0'.repeat(32) };
	await inTransaction(db.pool, async (client) => await insertReplay(client, wish));
	return id;
}

/** Makes the database refuse every step of a replay of a tenant. */
async function refuse(tenantId: string): Promise<void> {
	await db.pool.query(`
		create function refuse_step() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
		create trigger refuse_step before update on dead_letter_replay for each row
			when (new.tenant_id::text = '${tenantId}' and new.last_id is not null) execute function refuse_step()`);
}

test('a replay that cannot go on holds up no other, also when it is due first', async () => {
	for (const tenantId of tenants) await letters(tenantId, 3);
	const broken = await start(tenants[0]);
	const other = await start(tenants[1]);
	await refuse(tenants[0]);
	await expect(work()).rejects.toThrow('not this one');
	expect(await findReplay(db.pool, tenants[1], other)).toMatchObject({ status: 'DONE', refused: 3 });
	expect(await findReplay(db.pool, tenants[0], broken)).toMatchObject({ status: 'RUNNING', refused: 0 });
});

test('a letter that is written while a replay begins is neither counted nor taken, and not called closed', async () => {
	await letters(tenants[0], 2);
	const id = newId();
	await inTransaction(db.pool, async (client) => {
		await client.query('select now()');
		await letters(tenants[0], 1);
		const selection: ReplaySelection = { kind: 'filter', filter: {} };
		const wish = { id, tenantId: tenants[0], selection, ratePerSecond: 50, note: null, actor: 'key:x', traceId: '0'.repeat(32) };
		await insertReplay(client, wish);
	});
	await work();
	expect(await findReplay(db.pool, tenants[0], id)).toMatchObject({ status: 'DONE', matched: 2, refusals: { 'no-message': 2 } });
});

test('an id of zeros is an id like any other: it is not there', async () => {
	const id = await start(tenants[0], { kind: 'ids', ids: ['00000000-0000-0000-0000-000000000000', newId()] });
	await work();
	expect(await findReplay(db.pool, tenants[0], id)).toMatchObject({ status: 'DONE', matched: 2, refusals: { 'not-found': 2 } });
	expect(await metrics.registry.metrics()).toMatch(/^tidings_dead_letter_actions_total\{action="replay",result="refused"\} [1-9]/m);
});

test('K27 while one service has a replay another takes nothing of it', async () => {
	await letters(tenants[0], 3);
	const id = await start(tenants[0]);
	await inTransaction(db.pool, async (client) => {
		const taken = await takeReplay(client, tenants[0], id);
		if (taken === null) throw new Error('not due');
		expect(await nextLetters(client, taken, 5)).toHaveLength(3);
		expect(await replayTurn(db, { id, tenantId: tenants[0] })).toBeNull();
	});
	expect(await replayTurn(db, { id, tenantId: tenants[0] })).toMatchObject({ refused: 3, faults: [], end: 'DONE' });
});
