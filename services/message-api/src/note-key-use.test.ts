import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Db } from '@tidings/db';
import { createLogger } from '@tidings/telemetry';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';
import { createKeyUse } from './note-key-use.js';

let api: TestApi;
let key: { id: string; keyId: string };
beforeAll(async () => {
	api = await startApi();
	key = (await api.call('/v1/api-keys', { body: { name: 'k', capabilities: ['messages:read'] } })).body;
});
afterAll(async () => await api.stop());

const log = createLogger({ service: 'test', level: 'debug', destination: { write: () => undefined } });
const lastUse = async (): Promise<Date | null> =>
	(await api.db.pool.query('select last_used_at from api_key where id = $1', [key.id])).rows[0].last_used_at;

/** A database that can be away, and counts what is written. */
function breakable(): { db: Db; statements: number; away: boolean } {
	const state = { db: api.db, statements: 0, away: false };
	const query = async (given: unknown): Promise<unknown> => {
		if (state.away) throw new Error('away');
		state.statements += 1;
		return await api.db.pool.query(given as string);
	};
	state.db = { ...api.db, pool: { query } as unknown as Db['pool'] };
	return state;
}

test('all uses since the last time are one statement, and without any there is none', async () => {
	const state = breakable();
	const use = createKeyUse({ db: state.db, log, writeMs: 1 });
	for (let n = 0; n < 1_000; n++) use.note(key.keyId);
	use.note('0000000000000000');
	await use.start();
	await eventually(lastUse);
	await use.stop(1_000);
	expect(state.statements).toBe(1);
});

test('what could not be written is tried again, and of two uses the later one stands', async () => {
	const state = breakable();
	state.away = true;
	const use = createKeyUse({ db: state.db, log, writeMs: 1 });
	await api.db.pool.query('update api_key set last_used_at = null where id = $1', [key.id]);
	use.note(key.keyId);
	await use.start();
	const later = new Date();
	use.note(key.keyId);
	state.away = false;
	expect((await eventually(lastUse)).getTime()).toBeGreaterThanOrEqual(later.getTime());
	await use.stop(1_000);
});

test('a database that is away at the stop does not hold the stop up', async () => {
	const state = breakable();
	const use = createKeyUse({ db: state.db, log });
	await use.start();
	use.note(key.keyId);
	state.away = true;
	await use.stop(1_000);
	expect(state.statements).toBe(0);
});
