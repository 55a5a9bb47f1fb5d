import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@tidings/model';
import pg from 'pg';
import { triggerSql } from './trigger.sql.js';

/** A database of one test file, and how to remove it (connections that are left are cut). */
export type TestDatabase = { readonly url: string; drop(): Promise<void> };

/** Makes a database with all migrations and the test triggers. `server` is any database of the server to use; default: that of this test run. */
export async function createDatabase(server: string = testServer()): Promise<TestDatabase> {
	return await onServer(server, async (client) => await makeDatabase(client, server, await ensureTemplate(client, server)));
}

/** Makes a database with nothing in it. */
export async function createEmptyDatabase(server: string = testServer()): Promise<TestDatabase> {
	return await onServer(server, async (client) => await makeDatabase(client, server, 'template0'));
}

function testServer(): string {
	const url = process.env.TIDINGS_TEST_DATABASE_URL;
	if (url === undefined)
		throw new Error('There is no test server: run through Jest, or set TIDINGS_TEST_DATABASE_URL to a superuser’s address.');
	return url;
}

async function onServer<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		return await act(client);
	} finally {
		await client.end();
	}
}

async function makeDatabase(client: pg.Client, server: string, template: string): Promise<TestDatabase> {
	const name = `test_${newId().replaceAll('-', '')}`;
	await client.query(`create database ${name} template ${template}`);
	return {
		url: addressOf(server, name),
		drop: async () => {
			await onServer(server, (again) => again.query(`drop database if exists ${name} with (force)`));
		},
	};
}

function addressOf(server: string, database: string): string {
	const url = new URL(server);
	url.pathname = `/${database}`;
	return url.href;
}

/** The name of the template; whoever comes first makes it. Its name changes with its content, so a server that is kept never serves an old one. */
async function ensureTemplate(client: pg.Client, server: string): Promise<string> {
	const name = `tidings_template_${digest().slice(0, 16)}`;
	await client.query(`select pg_advisory_lock(hashtext('tidings test template'))`);
	try {
		const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
		if (rowCount === 0) await buildTemplate(client, server, name);
	} finally {
		await client.query(`select pg_advisory_unlock(hashtext('tidings test template'))`);
	}
	return name;
}

async function buildTemplate(client: pg.Client, server: string, name: string): Promise<void> {
	const { migrate } = await import('@tidings/db');
	// Under its final name it is complete: a run that was killed half way leaves only this one.
	await client.query('drop database if exists tidings_template_new with (force)');
	await client.query('create database tidings_template_new template template0');
	await onServer(addressOf(server, 'tidings_template_new'), async (inside) => {
		await migrate({ client: inside, log: () => undefined });
		await inside.query(triggerSql());
	});
	await client.query(`alter database tidings_template_new rename to ${name}`);
}

function digest(): string {
	const folder = join(import.meta.dirname, '../../prisma/migrations');
	const hash = createHash('sha256').update(triggerSql());
	const migrations = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
	for (const name of migrations.map((entry) => entry.name).sort())
		hash.update(name).update(readFileSync(join(folder, name, 'migration.sql')));
	return hash.digest('hex');
}
