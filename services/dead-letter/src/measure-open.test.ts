import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Db, openDb } from '@tidings/db';
import { newId, now } from '@tidings/model';
import { createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { measureOpen } from './measure-open.js';

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

test('the gauges tell what waits for a person, by source, and go back to 0', async () => {
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const createdAt = new Date(now().getTime() - 90_000);
	const data = ['AMBIGUOUS', 'AMBIGUOUS', 'EXPIRED'].map((source) => ({ id: newId(), tenantId: newId(), source, createdAt }));
	const closed = { id: newId(), tenantId: newId(), source: 'SEND_EXHAUSTED', status: 'RESOLVED', closedAt: createdAt };
	await db.prisma.deadLetterMessage.createMany({ data: [...data, closed] });
	await measureOpen({ db, metrics });
	const text = await metrics.registry.metrics();
	expect(text).toContain('tidings_dead_letters_open{source="AMBIGUOUS"} 2');
	expect(text).toContain('tidings_dead_letters_open{source="EXPIRED"} 1');
	expect(text).toContain('tidings_dead_letters_open{source="SEND_EXHAUSTED"} 0');
	expect(text).toMatch(/tidings_dead_letters_oldest_age_seconds\{source="AMBIGUOUS"\} 9\d/);
	await db.pool.query('delete from dead_letter_message');
	await measureOpen({ db, metrics });
	const after = await metrics.registry.metrics();
	expect(after).toContain('tidings_dead_letters_open{source="AMBIGUOUS"} 0');
	expect(after).toContain('tidings_dead_letters_oldest_age_seconds{source="EXPIRED"} 0');
});
