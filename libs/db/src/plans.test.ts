import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../../../test/harness/database.js';
import type { Queryable } from './client.js';
import { claimRecords } from './statements/claim-records.js';
import { findOpenMessages } from './statements/find-open-messages.js';
import { findWaitingFlows } from './statements/find-waiting-flows.js';
import { listActiveServers } from './statements/list-active-servers.js';

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
	const plans: string[] = [];
	const query = async ({ text, values }: { text: string; values: unknown[] }) => {
		const { rows } = await client.query({ text: `explain ${text}`, values });
		plans.push(...rows.map((row) => String(row['QUERY PLAN'])));
		return { rows: [{}] };
	};
	await run({ query } as unknown as Queryable).catch(() => undefined);
	expect(plans).not.toEqual([]);
	return plans.flatMap((line) => /Seq Scan on (\w+)/.exec(line)?.[1] ?? []);
}

test('the servers of a tenant are found by index among those of all', async () => {
	expect(await walkedBy((pool) => listActiveServers(pool, String(some[0]?.tenant_id)))).toEqual([]);
});

test('a claim looks up its records, also when many tenants are halted', async () => {
	const keys = some.map((one) => ({ recordId: one.id, tenantId: one.tenant_id, configId: one.gate }));
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'w', claim: 'c' } as const;
	expect(await walkedBy((pool) => claimRecords(pool, keys, claimant))).not.toContain('send_state');
});

test('what waits for a server that many tenants send through is looked for flow by flow', async () => {
	expect(await walkedBy((pool) => findOpenMessages(pool, platform.server))).not.toContain('outbox_entry');
	expect(await walkedBy((pool) => findWaitingFlows(pool, platform.server))).not.toContain('outbox_entry');
});
