import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Db, openDb } from '@tidings/db';
import { idAt, newId, now } from '@tidings/model';
import { createLogger } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { pruneOld, REPLAY_DAYS } from './prune-old.js';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

const log = createLogger({ service: 'test', level: 'info', destination: { write: () => undefined } });

/** A replay that was made, and ended, so many days ago. */
async function replay(madeDays: number, endedDays: number | null): Promise<string> {
	const ago = (days: number): Date => new Date(now().getTime() - days * 86_400_000);
	const id = idAt(ago(madeDays)).slice(0, 19) + newId().slice(19);
	await db.pool.query(
		`insert into dead_letter_replay (id, tenant_id, status, filter, rate_per_second, actor, trace_id, matched, created_at, finished_at)
		values ($1, $2, case when $4::timestamptz is null then 'RUNNING' else 'DONE' end, '{}', 1, 'key:x', '', 0, $3, $4)`,
		[id, newId(), ago(madeDays), endedDays === null ? null : ago(endedDays)],
	);
	return id;
}

test('a replay that ended thirty days ago is deleted, of whatever tenant; one that is younger, or RUNNING, stays', async () => {
	expect(REPLAY_DAYS).toBe(30);
	for (let n = 0; n < 250; n += 1) await replay(31 + n, 30.1);
	const kept = [await replay(29, 28), await replay(40, 29.9), await replay(400, null)];
	await pruneOld({ db, log }, AbortSignal.abort());
	expect((await db.pool.query('select from dead_letter_replay')).rowCount).toBe(253);
	await pruneOld({ db, log }, new AbortController().signal);
	const { rows } = await db.pool.query('select id from dead_letter_replay order by id');
	expect(rows.map(({ id }) => id)).toEqual(kept.toSorted());
});
