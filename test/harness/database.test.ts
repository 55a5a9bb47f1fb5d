import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import pg from 'pg';
import { createDatabase, type TestDatabase } from './database.js';
import { eventually } from './eventually.js';
import { startPostgres } from './postgres.js';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
	database = await createDatabase();
	client = new pg.Client({ connectionString: database.url });
	await client.connect();
});

afterAll(async () => {
	await client.end();
	await database.drop();
});

test('each test file has a database of its own, with every table', async () => {
	const other = await createDatabase();
	expect(other.url).not.toBe(database.url);
	const { rows } = await client.query(`select to_regclass('send_state') is not null as there`);
	expect(rows).toEqual([{ there: true }]);
	await other.drop();
	const late = new pg.Client({ connectionString: other.url });
	await expect(late.connect()).rejects.toThrow(/does not exist/);
});

describe('the test triggers', () => {
	async function insertState(): Promise<string> {
		const id = newId();
		await client.query(
			`insert into send_state (id, tenant_id, status, budget_max, due_at, not_after) values ($1, $1, 'PENDING', 5, now(), now() + interval '1 hour')`,
			[id],
		);
		return id;
	}
	const update = async (id: string, set: string) => await client.query(`update send_state set ${set} where id = $1`, [id]);
	const cancelled = `status = 'CANCELLED', due_at = null, finished_at = now()`;

	test('let a legal move pass, and an update that moves nothing', async () => {
		const id = await insertState();
		await update(id, 'waits = 1');
		await update(id, 'version = version + 1, due_at = now()');
		await update(id, `${cancelled}, version = version + 1`);
	});

	test('refuse a move that no state table knows', async () => {
		const id = await insertState();
		const sent = `status = 'SENT', due_at = null, sent_at = now(), finished_at = now(), version = version + 1`;
		await expect(update(id, sent)).rejects.toThrow(`send_state ${id}: no move leads from PENDING to SENT`);
	});

	test('refuse a legal move whose version does not rise by one', async () => {
		const id = await insertState();
		await expect(update(id, cancelled)).rejects.toThrow(`send_state ${id}: version 0 to 0 on the way from PENDING to CANCELLED`);
		await expect(update(id, `${cancelled}, version = version + 2`)).rejects.toThrow('version 0 to 2');
	});

	test('refuse a version that rises in a state from which no move leads to itself', async () => {
		const id = await insertState();
		await update(id, `${cancelled}, version = version + 1`);
		await expect(update(id, 'version = version + 1')).rejects.toThrow('no move leads from CANCELLED to CANCELLED');
	});

	test('watch outbox entries and dead letters too', async () => {
		const id = newId();
		await client.query(
			`insert into outbox_entry (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent) values ($1, $1, 'r', 'bulk', $1, 1, now(), '', '')`,
			[id],
		);
		const published = client.query(
			`update outbox_entry set status = 'PUBLISHED', taken = true, lease_until = now(), published_at = now() where id = $1`,
			[id],
		);
		await expect(published).rejects.toThrow('no move leads from NEW to PUBLISHED');
		await client.query(
			`insert into dead_letter_message (id, tenant_id, source, status, closed_at) values ($1, $1, 'EXPIRED', 'RESOLVED', now())`,
			[id],
		);
		const reopened = client.query(`update dead_letter_message set status = 'PENDING', closed_at = null where id = $1`, [id]);
		await expect(reopened).rejects.toThrow('no move leads from RESOLVED to PENDING');
	});
});

test('PostgreSQL stops when the process that started it is killed with -9', async () => {
	const code = `import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, 'postgres.ts'))};
		console.log((await startPostgres()).url); setInterval(() => undefined, 1000);`;
	const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	const [url] = await once(createInterface({ input: child.stdout }), 'line');
	const connects = async () => {
		const probe = new pg.Client({ connectionString: url });
		await probe.connect();
		await probe.end();
	};
	await connects();
	child.kill('SIGKILL');
	await eventually(
		() =>
			connects().then(
				() => false,
				(error) => error.code === 'ECONNREFUSED',
			),
		{ what: 'the server to be gone' },
	);
});

test('a PostgreSQL that is restarted, also by a crash, is there again with its address and its data', async () => {
	const postgres = await startPostgres({ fsync: true });
	const query = async (sql: string): Promise<unknown[]> => {
		const once = new pg.Client({ connectionString: postgres.url });
		await once.connect();
		try {
			return (await once.query(sql)).rows;
		} finally {
			await once.end();
		}
	};
	await query('create table kept (n int)');
	const begun = await query('select pg_postmaster_start_time() as at');
	for (const mode of ['fast', 'immediate'] as const) {
		await query('insert into kept values (1)');
		await postgres.restart(mode);
	}
	expect(await query('select count(*)::int as n from kept')).toEqual([{ n: 2 }]);
	expect(await query('select pg_postmaster_start_time() as at')).not.toEqual(begun);
	await postgres.stop();
});
