import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import type { Logger } from '@tidings/telemetry';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';

/** A way to run statements: the pool, or one client inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** The database as the services see it: raw SQL through `pool`, reads and configs through `prisma`, both over the same connections. */
export type Db = {
	readonly pool: pg.Pool;
	readonly prisma: PrismaClient;
	/** Resolves when a trivial statement is answered within two seconds, else rejects. */
	ping(): Promise<void>;
	/** Connections by what they are doing now. */
	connections(): { idle: number; busy: number; waiting: number };
	/** Resolves when the connections are closed, too; those of a server that is silent are left after a second. */
	close(): Promise<void>;
};

/** What `openDb` needs. */
export type DbOptions = {
	readonly url: string;
	/** Connections at most; default 10. */
	readonly connections?: number;
	/** Shown in pg_stat_activity. */
	readonly name: string;
	/** Told when an idle connection is lost; the pool opens another by itself. */
	readonly log?: Logger;
	/** After so many milliseconds without an answer a connection is given up, and its statement fails as with a database that is away; default 35,000. */
	readonly answerMs?: number;
};

/** A statement that takes longer is broken; it must not hold a connection for ever. */
const STATEMENT_MS = 30_000;
/** A server that is gone without a word does not even refuse: nothing else would end the wait for it. Longer than a statement may take. */
const ANSWER_MS = STATEMENT_MS + 5_000;
/** A connection that is idle for so long shows that its other side is still there. */
const KEEP_ALIVE_MS = 10_000;
/** A server that is silent does not close its side of a connection either. */
const CLOSE_MS = 1_000;

/** Opens a pool. Connects lazily, so it never fails by itself. */
export function openDb(options: DbOptions): Db {
	const pool = new pg.Pool({
		connectionString: options.url,
		max: options.connections ?? 10,
		application_name: `tidings-${options.name}`,
		connectionTimeoutMillis: 5_000,
		idleTimeoutMillis: 30_000,
		statement_timeout: STATEMENT_MS,
		query_timeout: options.answerMs ?? ANSWER_MS,
		idle_in_transaction_session_timeout: 30_000,
		keepAlive: true,
		keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
	});
	// Without a listener one terminated idle client ends the process.
	pool.on('error', (error) => options.log?.warn({ err: error }, 'database connection lost'));
	// The same goes for one that is lost while it is in use; whoever uses it is told by its statement.
	pool.on('connect', (client) => void client.on('error', () => undefined));
	const open = watchOpen(pool);
	const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
	return {
		pool,
		prisma,
		ping: async () => {
			await pool.query({ text: 'select 1', query_timeout: 2_000 } as pg.QueryConfig);
		},
		connections: () => ({ idle: pool.idleCount, busy: pool.totalCount - pool.idleCount, waiting: pool.waitingCount }),
		close: async () => {
			await prisma.$disconnect();
			await pool.end();
			// The pool only says goodbye on each: whoever stops the server next would cut them.
			await Promise.race([Promise.all([...open].map((client) => once(client, 'end'))), setTimeout(CLOSE_MS, undefined, { ref: false })]);
		},
	};
}

/** The connections of the pool that stand, at any time. */
function watchOpen(pool: pg.Pool): ReadonlySet<pg.PoolClient> {
	const open = new Set<pg.PoolClient>();
	pool.on('connect', (client) => {
		open.add(client);
		client.once('end', () => open.delete(client));
	});
	return open;
}
