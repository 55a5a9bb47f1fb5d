import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBroker } from '@tidings/broker';
import { type Db, openDb } from '@tidings/db';
import { topicsOf } from '@tidings/model';
import { createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { acceptRecords, makeSender, newRecord } from '../../../test/harness/records.js';
import { measure } from './measure.js';

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

test('the gauges tell what waits in the tables and at the broker, and go back to 0', async () => {
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const broker = await openBroker({ url: 'embedded:', namespace: 'public/default' });
	await broker.ensureTopics(topicsOf('mail-send'));
	const sender = await makeSender(db);
	const [first = ''] = await acceptRecords(db, [newRecord(sender), newRecord(sender), newRecord(sender, { lane: 'bulk' })]);
	const [later = ''] = await acceptRecords(db, [newRecord(sender, { lane: 'urgent' })]);
	await db.pool.query(`update outbox_entry set due_at = now() + interval '1 hour' where id = $1`, [later]);
	await db.pool.query(`update outbox_entry set due_at = now() - interval '1 minute' where id = $1`, [first]);
	await db.pool.query(
		`update outbox_entry set due_at = now() - interval '2 minutes', status = 'PUBLISHING', taken = true, lease_until = now() where lane = 'bulk'`,
	);
	await broker.publish([{ topic: 'mail-send-urgent', payload: Buffer.from('{}'), properties: {} }]);
	const other = await makeSender(db);
	await db.pool.query(`update gate set closed_until = 'infinity', reason = 'AUTH' where id = $1`, [other.configId]);
	await measure({ db, broker, metrics });
	const text = await metrics.registry.metrics();
	expect(text).toContain('tidings_records{channel="mail",status="PENDING"} 4');
	expect(text).toContain('tidings_outbox_entries{route="mail-send",status="NEW"} 3');
	expect(text).toContain('tidings_outbox_entries{route="mail-send",status="PUBLISHING"} 1');
	expect(text).toMatch(/tidings_queue_oldest_age_seconds\{route="mail-send",lane="normal"\} 6\d/);
	expect(text).toMatch(/tidings_queue_oldest_age_seconds\{route="mail-send",lane="bulk"\} 12\d/);
	expect(text).toContain('tidings_queue_oldest_age_seconds{route="mail-send",lane="urgent"} 0');
	expect(text).toMatch(/tidings_outbox_oldest_due_age_seconds\{route="mail-send"\} 6\d/);
	expect(text).toContain('tidings_broker_backlog_messages{route="mail-send",lane="urgent"} 1');
	const gates = 'tidings_gates{channel="mail",provider="smtp"';
	expect(text).toContain(`${gates},state="closed",reason="AUTH"} 1`);
	expect(text).toContain(`${gates},state="open",reason="none"} 1`);
	await db.pool.query('delete from outbox_entry');
	await db.pool.query('update gate set closed_until = null, reason = null, half_open = true where id = $1', [other.configId]);
	await measure({ db, broker, metrics });
	const after = await metrics.registry.metrics();
	expect(after).toContain('tidings_outbox_entries{route="mail-send",status="NEW"} 0');
	expect(after).toContain(`${gates},state="closed",reason="AUTH"} 0`);
	expect(after).toContain(`${gates},state="half_open",reason="none"} 1`);
	await broker.close();
	await measure({ db, broker, metrics });
	expect(await metrics.registry.metrics()).toContain('tidings_broker_backlog_messages{route="mail-send",lane="urgent"} Nan');
});

test.each([
	['a closed gate', `update gate set closed_until = 'infinity', reason = 'UNREACHABLE' where id = $1`],
	[
		'a paused route',
		`insert into gate (id, tenant_id, kind, route, closed_until, reason) select uuid_v7(), tenant_id, 'ROUTE', 'mail-send', 'infinity', 'PAUSED' from gate where id = $1`,
	],
])('what waits behind %s is counted, and makes nothing late', async (_, shut) => {
	const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
	const broker = await openBroker({ url: 'embedded:', namespace: 'public/default' });
	const sender = await makeSender(db);
	const ids = await acceptRecords(db, [newRecord(sender), newRecord(sender)]);
	await db.pool.query(`update outbox_entry set due_at = now() - interval '1 hour' where id = any($1)`, [ids]);
	await measure({ db, broker, metrics });
	expect(await metrics.registry.metrics()).toMatch(/tidings_outbox_oldest_due_age_seconds\{route="mail-send"\} 36\d\d/);
	await db.pool.query(shut, [sender.configId]);
	await measure({ db, broker, metrics });
	const text = await metrics.registry.metrics();
	expect(text).toContain('tidings_outbox_oldest_due_age_seconds{route="mail-send"} 0');
	expect(text).toContain('tidings_queue_oldest_age_seconds{route="mail-send",lane="normal"} 0');
	expect(text).toContain('tidings_outbox_entries{route="mail-send",status="NEW"} 2');
	expect(text).toContain(`tidings_route_paused{route="mail-send"} ${shut.includes('ROUTE') ? 1 : 0}`);
	await db.pool.query('delete from outbox_entry');
	await broker.close();
});
