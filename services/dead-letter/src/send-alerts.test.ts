import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { beginAlerts, type Db, listAlerts, openDb, RECORD_TABLES } from '@tidings/db';
import { type MonthlyCaps, NO_CAPS, newId } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { alertRecipients } from './alert-recipients.js';
import { sendAlerts } from './send-alerts.js';

const TENANT = newId();

let database: TestDatabase;
let db: Db;
let platformId: string;
let serverId: string;

beforeAll(async () => {
	database = await createDatabase();
	db = openDb({ url: database.url, name: 'test' });
	platformId = newId();
	serverId = newId();
	await db.prisma.tenant.create({ data: { id: platformId, name: 'Platform', kind: 'PLATFORM' } });
	await db.prisma.mailSendServerConfig.create({
		data: {
			...{ id: serverId, tenantId: platformId, name: 'own', host: '127.0.0.1', port: 25, security: 'none', isDefault: true },
			...{ fromAddress: 'mesh@example.com', fromName: 'Mesh', allowedFrom: ['mesh@example.com'] },
		},
	});
	await db.prisma.gate.create({ data: { id: serverId, tenantId: platformId, kind: 'CONFIG' } });
});
afterEach(async () => {
	await db.pool.query('delete from dead_letter_alert');
	await db.pool.query('delete from dead_letter_message');
	lines.length = 0;
	for (const table of ['tenant_message_quota', 'tenant_message_usage', ...RECORD_TABLES, 'outbox_entry', 'dedupe_key'])
		await db.pool.query(`delete from ${table}`);
});
afterAll(async () => {
	await db.close();
	await database.drop();
});

const metrics = createMetrics({ service: 'test', version: '0', processMetrics: false });
const lines: Record<string, unknown>[] = [];
const log = createLogger({ service: 'test', level: 'info', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });

/** As the service does it: in the middle of a test a cause may be told of again only where it says so. */
const alert = (
	more: { everySeconds?: number; recipients?: readonly string[]; settleSeconds?: number; caps?: MonthlyCaps } = {},
): Promise<void> => sendAlerts({ db, log, metrics, recipients: ['ops@example.com', 'night@example.com'], settleSeconds: 0, ...more });

async function letters(
	count: number,
	change: { source?: string; category?: string; type?: string; status?: string; tenantId?: string } = {},
): Promise<string[]> {
	const { source = 'SEND_EXHAUSTED', category, type = 'order.confirmed', status = 'PENDING', tenantId = TENANT } = change;
	const { rows } = await db.pool.query<{ id: string }>(
		`insert into dead_letter_message (id, tenant_id, source, category, type, status, closed_at, error)
		select uuid_v7(), $1, $2, $3, $4, $5, case $5 when 'PENDING' then null else now() end, 'no ann@example.com' from generate_series(1, $6) returning id`,
		[tenantId, source, category ?? null, type, status, count],
	);
	return rows.map((row) => row.id);
}

type Mail = {
	subject: string;
	text: string;
	type: string;
	scope: string;
	tenantId: string;
	configId: string;
	lane: string;
	status: string;
	to: string[];
};

async function mails(): Promise<Mail[]> {
	const { rows } = await db.pool.query<Mail>(`
		select p.subject, p.body_text as text, r.type, r.scope, r.tenant_id as "tenantId", r.config_id as "configId", r.lane, s.status,
			(select array_agg(address order by n) from send_recipient q where q.id = r.id) as to
		from send_record r join send_state s using (id) join send_payload p using (id) join outbox_entry e using (id) order by p.subject`);
	return rows;
}

test('new letters are told of by one mail for each cause, a record of the platform’s own with counts and ids and nothing else', async () => {
	const ids = await letters(7, { category: 'AUTH' });
	await letters(1, { source: 'AMBIGUOUS' });
	await letters(3, { category: 'AUTH', status: 'RESOLVED' });
	await alert();
	const [held, auth, ...more] = await mails();
	expect(more).toEqual([]);
	expect(held).toMatchObject({ subject: '[Tidings] 1 new dead letter: AMBIGUOUS' });
	expect(auth).toMatchObject({
		subject: '[Tidings] 7 new dead letters: SEND_EXHAUSTED, AUTH',
		...{ type: 'tidings.alert', scope: 'PLATFORM', tenantId: platformId, configId: serverId, lane: 'urgent', status: 'PENDING' },
		to: ['ops@example.com', 'night@example.com'],
	});
	expect(auth?.text).toContain(`New: 7\nOpen in all: 7\n\nNew ones are of 1 tenant:\n  ${TENANT}: 7\n`);
	expect(ids.filter((id) => auth?.text.includes(`${id} of tenant ${TENANT}`))).toEqual(
		ids.filter((id) => ids.toSorted().slice(0, 5).includes(id)),
	);
	expect(auth?.text).toContain('and 2 more');
	expect(auth?.text).not.toContain('ann@');
	expect(await metrics.registry.metrics()).toContain('tidings_dead_letter_alerts_total{source="AMBIGUOUS"} 1');
});

test('a cause is told of at most once in its time, also over a restart; then only what is new counts as new', async () => {
	await letters(2, { category: 'AUTH' });
	await alert();
	await letters(3, { category: 'AUTH' });
	for (let restart = 0; restart < 3; restart += 1) await alert();
	expect(await mails()).toHaveLength(1);
	await letters(1, { category: 'CONFIG' });
	await alert();
	expect(await mails()).toHaveLength(2);
	await alert({ everySeconds: 0 });
	expect((await mails()).map(({ subject }) => subject)).toEqual([
		'[Tidings] 1 new dead letter: SEND_EXHAUSTED, CONFIG',
		'[Tidings] 2 new dead letters: SEND_EXHAUSTED, AUTH',
		'[Tidings] 3 new dead letters: SEND_EXHAUSTED, AUTH',
	]);
	await alert({ everySeconds: 0 });
	expect(await mails()).toHaveLength(3);
});

test('nobody is told of a letter about such a mail', async () => {
	await letters(3, { type: 'tidings.alert', category: 'AUTH', tenantId: platformId });
	await alert();
	expect(await mails()).toEqual([]);
	await letters(1, { category: 'AUTH' });
	await alert();
	expect((await mails()).map(({ subject }) => subject)).toEqual(['[Tidings] 1 new dead letter: SEND_EXHAUSTED, AUTH']);
});

test('a tenant that gives its own messages the type of such a mail hides nothing from operators', async () => {
	await letters(2, { type: 'tidings.alert', category: 'AUTH' });
	await alert();
	expect((await mails()).map(({ subject }) => subject)).toEqual(['[Tidings] 2 new dead letters: SEND_EXHAUSTED, AUTH']);
});

test('a mail to operators counts in the platform’s quota and is accepted also when that is used up; what it uses up is warned of', async () => {
	await letters(1, { category: 'AUTH' });
	await alert({ caps: { ...NO_CAPS, MAIL: 2 } });
	await db.pool.query(`insert into tenant_message_quota (tenant_id, channel, cap) values ($1, 'MAIL', 0)`, [platformId]);
	await letters(1, { category: 'CONFIG' });
	await alert();
	expect(await mails()).toHaveLength(2);
	const { rows } = await db.pool.query('select tenant_id, used::int from tenant_message_usage');
	expect(rows).toEqual([{ tenant_id: platformId, used: 4 }]);
	expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
		{ tenantId: platformId, percent: 80, used: 2, cap: 2, msg: 'monthly quota nearly used up' },
		{ tenantId: platformId, percent: 100, used: 2, cap: 2, msg: 'monthly quota used up' },
	]);
	expect(await metrics.registry.metrics()).toContain('tidings_quota_warnings_total{channel="mail",level="100"} 1');
});

test('of several services that look at once one tells', async () => {
	await letters(5, { category: 'AUTH' });
	const told = async (): Promise<number> => lines.filter(({ msg }) => msg === 'operators are told of dead letters').length;
	await Promise.all(Array.from({ length: 6 }, () => alert()));
	expect([await told(), (await mails()).length]).toEqual([1, 1]);
	await alert();
	expect([await told(), (await mails()).length]).toEqual([1, 1]);
	expect(await listAlerts(db.pool)).toEqual([]);
});

test('a crash before the mail is accepted swallows nothing, and a crash after it sends nothing twice', async () => {
	await letters(2, { category: 'AUTH' });
	await beginAlerts(db.pool, { everySeconds: 900, settleSeconds: 0 });
	await alert();
	expect(await mails()).toHaveLength(1);
	await db.pool.query(`update dead_letter_alert set untold_from = '-infinity'`);
	await alert();
	expect(await mails()).toHaveLength(1);
	expect(await listAlerts(db.pool)).toEqual([]);
});

test('without a server of the platform it says so and tells as soon as there is one; without recipients it does nothing', async () => {
	await letters(2, { category: 'AUTH' });
	await alert({ recipients: [] });
	expect((await db.pool.query('select from dead_letter_alert')).rowCount).toBe(0);
	await db.pool.query('update mail_send_server_config set active = false');
	for (const _ of [1, 2]) await expect(alert()).rejects.toThrow('the platform has no active default mail server');
	expect(await mails()).toEqual([]);
	await db.pool.query('update mail_send_server_config set active = true');
	await alert();
	expect(await mails()).toHaveLength(1);
});

test('the time between two mails counts from when one was accepted, also where its telling had to wait for a server', async () => {
	await letters(2, { category: 'AUTH' });
	await db.pool.query('update mail_send_server_config set active = false');
	await expect(alert()).rejects.toThrow('no active default mail server');
	await db.pool.query(`update dead_letter_alert set alerted_at = now() - interval '1 hour'`);
	await db.pool.query('update mail_send_server_config set active = true');
	await letters(1, { category: 'AUTH' });
	for (const _ of [1, 2]) await alert();
	expect(await mails()).toHaveLength(1);
});

test('a letter is told of when every transaction that began before it has ended: one that came late is not passed over', async () => {
	await letters(1, { category: 'AUTH' });
	await alert({ settleSeconds: 60 });
	expect(await mails()).toEqual([]);
	await db.pool.query(`update dead_letter_message set created_at = now() - interval '2 minutes'`);
	await alert({ settleSeconds: 60 });
	expect(await mails()).toHaveLength(1);
	await letters(1, { category: 'AUTH' });
	await db.pool.query(
		`update dead_letter_message set created_at = now() - interval '30 seconds' where created_at > now() - interval '20 seconds'`,
	);
	await alert({ settleSeconds: 60, everySeconds: 0 });
	await alert({ settleSeconds: 0, everySeconds: 0 });
	expect((await mails()).map(({ subject }) => subject)).toEqual(
		Array.from({ length: 2 }, () => '[Tidings] 1 new dead letter: SEND_EXHAUSTED, AUTH'),
	);
});

test('recipients are read from one setting, each once', () => {
	expect(alertRecipients({})).toEqual([]);
	expect(alertRecipients({ TIDINGS_ALERT_RECIPIENTS: 'Ops@Example.com, night@example.com,Ops@example.com' })).toEqual([
		'Ops@example.com',
		'night@example.com',
	]);
});
