import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import type { Queryable } from './client.js';
import { claimRecords } from './statements/claim-records.js';
import { findGates } from './statements/find-gates.js';
import { findOpenMessages } from './statements/find-open-messages.js';
import { findWaitingFlows } from './statements/find-waiting-flows.js';
import { listActiveServers } from './statements/list-active-servers.js';
import { findMessage, listMessages } from './statements/list-messages.js';
import { measureOutbox } from './statements/measure-outbox.js';
import { nextLetters } from './statements/next-letters.js';
import type { TakenReplay } from './statements/take-replay.js';

let database: TestDatabase;
let client: pg.Client;
let some: { id: string; tenant_id: string; gate: string }[];
let platform: { tenant: string; server: string };
beforeAll(async () => {
	database = await createDatabase();
	client = new pg.Client({ connectionString: database.url });
	await client.connect();
	await client.query(FILL);
	some = (await client.query('select id, tenant_id, gate from outbox_entry limit 50')).rows;
	platform = (
		await client.query(
			`select t.id as tenant, c.id as server from tenant t join mail_send_server_config c on c.tenant_id = t.id where kind = 'PLATFORM'`,
		)
	).rows[0];
});
afterAll(async () => {
	await client.end();
	await database.drop();
});

/** 10,000 tenants with two servers each, one in five of them suspended; all of them send through the platform's server, too. 60,000 mails wait. */
const FILL = `
	set session_replication_role = replica;
	insert into tenant (id, name, kind, status)
	select gen_random_uuid(), 'n' || g, case when g = 1 then 'PLATFORM' else 'TENANT' end, case when g % 5 = 0 then 'SUSPENDED' else 'ACTIVE' end from generate_series(1, 10000) g;
	insert into mail_send_server_config (id, tenant_id, name, host, port, security, from_address, allowed_from, is_default)
	select gen_random_uuid(), t.id, 'c' || i, 'h', 25, 'none', 'a@b', '{a@b}', i = 1 from tenant t cross join generate_series(1, 2) i where t.kind = 'TENANT' or i = 1;
	insert into gate (id, tenant_id, kind) select id, tenant_id, 'CONFIG' from mail_send_server_config;
	insert into flow (tenant_id, gate, lane, route) select tenant_id, id, 'normal', 'mail-send' from mail_send_server_config;
	insert into flow (tenant_id, gate, lane, route)
	select t.id, c.id, 'bulk', 'mail-send' from tenant t cross join mail_send_server_config c where c.tenant_id = (select id from tenant where kind = 'PLATFORM');
	insert into outbox_entry (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
	select gen_random_uuid(), f.tenant_id, 'mail-send', f.lane, f.gate, f.id, now(), 'x', 'y' from flow f cross join generate_series(1, 2);
	insert into send_state (id, tenant_id, status, budget_max, due_at, not_after)
	select id, tenant_id, 'PENDING', 5, now(), now() + interval '3 days' from outbox_entry;
	analyze`;

/** The tables that a statement reads from end to end. */
async function walkedBy(run: (explaining: Queryable) => Promise<unknown>): Promise<string[]> {
	return (await planOf(run)).flatMap((line) => /Seq Scan on (\w+)/.exec(line)?.[1] ?? []);
}

/** The lines of the plans of what is run. */
async function planOf(run: (explaining: Queryable) => Promise<unknown>): Promise<string[]> {
	const plans: string[] = [];
	const query = async ({ text, values }: { text: string; values: unknown[] }) => {
		const { rows } = await client.query({ text: `explain ${text}`, values });
		plans.push(...rows.map((row) => String(row['QUERY PLAN'])));
		return { rows: [{}] };
	};
	await run({ query } as unknown as Queryable).catch(() => undefined);
	expect(plans).not.toEqual([]);
	return plans;
}

test('the servers of a tenant are found by index among those of all', async () => {
	expect(await walkedBy((pool) => listActiveServers(pool, String(some[0]?.tenant_id)))).toEqual([]);
});

test('F36 a claim looks up its records, also when many tenants are halted', async () => {
	const keys = some.map((one) => ({ recordId: one.id, tenantId: one.tenant_id, configId: one.gate }));
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'w', claim: 'c' } as const;
	expect(await walkedBy((pool) => claimRecords(pool, keys, claimant))).not.toContain('send_state');
});

test('what waits for a server that many tenants send through is looked for flow by flow', async () => {
	expect(await walkedBy((pool) => findOpenMessages(pool, platform.server))).not.toContain('outbox_entry');
	expect(await walkedBy((pool) => findWaitingFlows(pool, platform.server))).not.toContain('outbox_entry');
});

test('what waits is measured by the index of what waits, without its rows', async () => {
	await client.query('vacuum outbox_entry');
	expect(await walkedBy((pool) => measureOutbox(pool))).not.toContain('outbox_entry');
	expect((await planOf((pool) => measureOutbox(pool))).join('\n')).toContain('Index Only Scan using outbox_entry_waiting');
});

test('what messages wait for is found by index among the gates of all, for one message and for a page', async () => {
	const [one] = some;
	if (one === undefined) throw new Error('nothing waits');
	for (const run of [
		async (pool: Queryable) => await findMessage(pool, one.tenant_id, one.id),
		async (pool: Queryable) => await listMessages(pool, one.tenant_id, {}, 201),
		async (pool: Queryable) => await findGates(pool, one.tenant_id, [one.gate]),
	])
		expect(await walkedBy(run)).not.toContain('gate');
});

/** Open letters: a hundred of one tenant, which the statistics know, and newer ones of the platform, which they do not. */
const LETTERS = `
	insert into dead_letter_message (id, tenant_id, source, category, type, error)
	select uuid_v7(), t.id, 'SEND_EXHAUSTED', 'AUTH', 'order', 'no' from (select id from tenant where kind = 'TENANT' order by id limit 1) t cross join generate_series(1, 100);
	analyze dead_letter_message;
	insert into dead_letter_message (id, tenant_id, source, category, type, error)
	select uuid_v7(), t.id, 'SEND_EXHAUSTED', 'AUTH', 'order', 'no' from tenant t cross join generate_series(1, 50000) where t.kind = 'PLATFORM'`;

test('the letters whose turn is next are walked among those of their tenant alone, also in a flood that the statistics do not know yet', async () => {
	await client.query(LETTERS);
	const known = String((await client.query('select tenant_id from dead_letter_message limit 1')).rows[0]?.tenant_id);
	const kind = { source: 'SEND_EXHAUSTED', category: 'AUTH', type: 'order' };
	const times = { createdAfter: '2026-01-01T00:00:00Z', createdBefore: '2100-01-01T00:00:00Z' };
	const lastId = String((await client.query('select id from dead_letter_message order by id desc limit 1')).rows[0]?.id);
	const expectWalks = async (filters: readonly Record<string, string>[]): Promise<void> => {
		const cases = [known, String(some[0]?.tenant_id)].flatMap((tenantId) =>
			filters.flatMap((filter) => [null, lastId].map((last) => ({ tenantId, filter, lastId: last }))),
		);
		const others: unknown[] = [];
		for (const one of cases) {
			const read = await lettersReadBy({ id: platform.server, ...one });
			if (read.join() !== 'Index Scan using dead_letter_pending') others.push({ ...one, read });
		}
		expect(others).toEqual([]);
	};
	await expectWalks([{}, kind, times, { ...kind, ...times }]);
	await client.query('analyze dead_letter_message');
	await expectWalks([{}, kind, times, { ...kind, ...times, text: 'nothing like it' }]);
});

/** How the letters are found that are next in a replay. */
async function lettersReadBy(replay: Pick<TakenReplay, 'id' | 'tenantId' | 'filter' | 'lastId'>): Promise<string[]> {
	const rest = { ratePerSecond: 200, note: null, actor: 'key:x', traceId: '', refusals: {}, sample: [] };
	const plan = await planOf((pool) => nextLetters(pool, { ...rest, ...replay }, 100));
	return plan.flatMap((line) => /(\w[\w ]*) on dead_letter_message/.exec(line)?.[1] ?? []);
}
