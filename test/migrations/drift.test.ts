import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../harness/database.js';
import { diffSchema } from './diff-schema.js';

const schema = readFileSync(join(import.meta.dirname, '../../prisma/schema.prisma'), 'utf8');
let migrated: TestDatabase;
let declared: TestDatabase;

beforeAll(async () => {
	migrated = await createDatabase();
	declared = await createEmptyDatabase();
});

afterAll(async () => {
	await migrated.drop();
	await declared.drop();
});

async function withClient<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		return await act(client);
	} finally {
		await client.end();
	}
}

/** One line for each column: its type, whether it may be null, whether the database fills it in, and its place in the primary key. */
async function columns(url: string): Promise<string[]> {
	return await withClient(url, async (client) => {
		const { rows } = await client.query<{ line: string }>(`
			select c.relname || '.' || a.attname || ' '
				-- Six digits are what a time has by default.
				|| replace(format_type(a.atttypid, a.atttypmod), '(6)', '')
				-- Prisma knows no list that must not be null.
				|| case when a.attnotnull and t.typelem = 0 then ' not null' else '' end
				|| case when a.atthasdef or a.attidentity <> '' then ' filled in' else '' end
				|| coalesce(' key ' || array_position(i.indkey::int[], a.attnum::int), '') as line
			from pg_class c
			join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
			join pg_type t on t.oid = a.atttypid
			left join pg_index i on i.indrelid = c.oid and i.indisprimary
			where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relname <> '_prisma_migrations'`);
		return rows.map((row) => row.line).sort();
	});
}

test('the migrations make the tables that schema.prisma declares', async () => {
	const sql = await diffSchema(schema, declared.url);
	await withClient(declared.url, (client) => client.query(sql));
	expect(await columns(migrated.url)).toEqual(await columns(declared.url));
});

test('a column that only one side has is seen', async () => {
	const other = await createEmptyDatabase();
	const sql = await diffSchema(schema.replace('bodySha256 Bytes ', 'bodySha256 Bytes?'), other.url);
	await withClient(other.url, (client) => client.query(sql));
	const [left, right] = [await columns(migrated.url), await columns(other.url)];
	expect(left.filter((line) => !right.includes(line))).toEqual(['idempotency_key.body_sha256 bytea not null']);
	await other.drop();
});
