import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@tidings/model';
import pg from 'pg';

/** Where the migrations lie, seen from the sources and from dist alike. */
const MIGRATIONS = join(import.meta.dirname, '../../../prisma/migrations');

/** The key of the advisory lock that migrating holds: "tidings" in letters of a telephone. */
const LOCK = 8434647;

/**
 * One migration file. Its first line says what it is: `-- expand` only adds, so services that do not know it go on working;
 * `-- contract NAME` removes what nothing needs that knows the migration NAME. A second line `-- no-transaction` asks for none:
 * then each statement ends with `;` at the end of a line, and the file must bear being run again after a failure.
 */
type Migration = {
	readonly name: string;
	readonly sql: string;
	readonly checksum: string;
	readonly kind: 'expand' | 'contract';
	/** The first line without its dashes; kept in the row, so that older services can judge a migration that they do not have. */
	readonly heading: string;
	readonly transaction: boolean;
};

type Applied = { readonly name: string; readonly checksum: string; readonly heading: string; readonly finished: boolean };

/** What `migrate` needs: an address, or one connection of the caller's (not a pool: the lock belongs to a session). */
export type MigrateOptions = ({ readonly url: string } | { readonly client: pg.ClientBase }) & {
	/** Default: the migrations of this release. */
	readonly directory?: string;
	/** Told one line for each migration that it applies, and when it waits for another run. */
	readonly log: (line: string) => void;
};

/**
 * Applies what is missing, in order of the names, each file in a transaction together with its row, under an advisory lock: of two runs at once, one
 * applies and the other finds nothing to do. Answers the names it applied. Rejects, naming the file, when an applied file was edited since or a file fails;
 * then nothing of that file is left, and those before it stay.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
	const { log, directory = MIGRATIONS } = options;
	if ('client' in options) return await migrateOn(options.client, directory, log);
	const client = new pg.Client({ connectionString: options.url, application_name: 'tidings-migrate', connectionTimeoutMillis: 10_000 });
	await client.connect();
	try {
		return await migrateOn(client, directory, log);
	} finally {
		await client.end();
	}
}

async function migrateOn(client: pg.ClientBase, directory: string, log: (line: string) => void): Promise<string[]> {
	const migrations = readMigrations(directory);
	await lock(client, log);
	try {
		await client.query(HISTORY);
		const pending = findPending(migrations, await readHistory(client));
		for (const migration of pending) {
			await apply(client, migration);
			log(`applied ${migration.name}`);
		}
		return pending.map((migration) => migration.name);
	} finally {
		await client.query('select pg_advisory_unlock($1)', [LOCK]);
	}
}

async function lock(client: pg.ClientBase, log: (line: string) => void): Promise<void> {
	for (let told = false; ; told = true) {
		const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [LOCK]);
		if (rows[0]?.locked === true) return;
		if (!told) log('waiting for another run to end');
		// Asked again and again: a statement that waits keeps a snapshot, for which the other's `create index concurrently` would wait in turn.
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

/** Prisma's own layout, so that its tools find the history that they expect. */
const HISTORY = `
create table if not exists _prisma_migrations (
	id varchar(36) primary key not null,
	checksum varchar(64) not null,
	finished_at timestamptz,
	migration_name varchar(255) not null,
	logs text,
	rolled_back_at timestamptz,
	started_at timestamptz not null default now(),
	applied_steps_count integer not null default 0
)`;

async function readHistory(client: Pick<pg.ClientBase, 'query'>): Promise<Applied[]> {
	const { rows } = await client.query<Applied>(
		`select migration_name as name, checksum, coalesce(logs, '') as heading, finished_at is not null as finished
		from _prisma_migrations where rolled_back_at is null order by migration_name`,
	);
	return rows;
}

function findPending(migrations: readonly Migration[], history: readonly Applied[]): Migration[] {
	const unfinished = history.find((row) => !row.finished);
	if (unfinished)
		throw new Error(`The migration ${unfinished.name} was begun by another tool and has not ended. Mend the database, then its row.`);
	const checksums = new Map(history.map((row) => [row.name, row.checksum]));
	for (const { name, checksum } of migrations) {
		if ((checksums.get(name) ?? checksum) === checksum) continue;
		throw new Error(`The migration ${name} was edited after it was applied. Restore the file, and put the change into a new migration.`);
	}
	return migrations.filter(({ name }) => !checksums.has(name));
}

function readMigrations(directory: string): Migration[] {
	const folders = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
	return folders.map((folder) => readMigration(directory, folder.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function readMigration(directory: string, name: string): Migration {
	const bytes = readFileSync(join(directory, name, 'migration.sql'));
	const sql = bytes.toString('utf8');
	const [first = '', second = ''] = sql.split('\n', 2);
	const [, heading = '', kind = ''] = /^--\s*((expand)|contract \S+)\b/.exec(first) ?? [];
	if (heading === '') throw new Error(`The first line of ${name}/migration.sql must be "-- expand" or "-- contract NAME".`);
	return {
		name,
		sql,
		checksum: createHash('sha256').update(bytes).digest('hex'),
		kind: kind === 'expand' ? 'expand' : 'contract',
		heading,
		transaction: !/^--\s*no-transaction\b/.test(second),
	};
}

async function apply(client: pg.ClientBase, migration: Migration): Promise<void> {
	const { name, sql, checksum, heading, transaction } = migration;
	try {
		if (transaction) await client.query(`begin`);
		// Several statements in one query share a transaction, so without one each goes alone.
		for (const statement of transaction ? [sql] : sql.split(/;[ \t]*$/m).filter(hasStatement)) await client.query(statement);
		await client.query(
			`insert into _prisma_migrations (id, checksum, migration_name, logs, started_at, finished_at, applied_steps_count)
			values ($1, $2, $3, $4, now(), clock_timestamp(), 1)`,
			[newId(), checksum, name, heading],
		);
		if (transaction) await client.query('commit');
	} catch (error) {
		if (transaction) await client.query('rollback').catch(() => undefined);
		throw new Error(`The migration ${name} failed: ${explain(error, sql, transaction)}`, { cause: error });
	}
}

const hasStatement = (text: string): boolean => text.replace(/--.*$/gm, '').trim() !== '';

function explain(error: unknown, sql: string, transaction: boolean): string {
	if (!(error instanceof pg.DatabaseError)) return error instanceof Error ? error.message : String(error);
	const position = transaction ? Number(error.position) : Number.NaN;
	const line = Number.isNaN(position) ? '' : `line ${sql.slice(0, position - 1).split('\n').length}: `;
	return `${line}${error.message} (${error.code})`;
}

/** The name of the newest migration that this database has; null when it has none. */
export async function schemaVersion(client: Pick<pg.ClientBase, 'query'>): Promise<string | null> {
	return (await readSchema(client)).at(-1)?.name ?? null;
}

/**
 * Rejects when this release cannot work with the database's schema: it lacks an expanding migration that this release knows, or a contracting one
 * removed what this release still needs. The message says what to do.
 */
export async function assertSchema(client: Pick<pg.ClientBase, 'query'>, directory: string = MIGRATIONS): Promise<void> {
	const known = readMigrations(directory);
	const history = await readSchema(client);
	const missing = known.filter(({ name, kind }) => kind === 'expand' && !history.some((row) => row.name === name));
	if (missing.length > 0) {
		const found = history.at(-1)?.name ?? 'empty';
		throw new Error(`The database schema (${found}) lacks ${missing.map(({ name }) => name).join(', ')}. Run: npm run migrate`);
	}
	const past = history.find(({ heading }) => {
		const needed = /^contract (\S+)/.exec(heading)?.[1];
		return needed !== undefined && !known.some(({ name }) => name === needed);
	});
	if (past) throw new Error(`The database schema has gone past this release: ${past.name} removed what it needs. Run a newer release.`);
}

async function readSchema(client: Pick<pg.ClientBase, 'query'>): Promise<Applied[]> {
	const { rows } = await client.query(`select to_regclass('_prisma_migrations') is not null as there`);
	return rows[0]?.there === true ? (await readHistory(client)).filter((row) => row.finished) : [];
}
