import { random } from '@tidings/model';
import type pg from 'pg';

/** SQLSTATEs after which the whole transaction is simply run again: serialization failure, deadlock, lock not available. */
const RETRYABLE = new Set(['40001', '40P01', '55P03']);

/** SQLSTATE classes in which the data itself is at fault: data exception, integrity constraint violation. */
const DATA = new Set(['22', '23']);

/** What kind of trouble a database error is. `away`: the server cannot be reached, is starting, stopping or full; nothing is wrong with the statement. */
export type DbTrouble = 'retryable' | 'data' | 'away' | 'bug';

/** What sockets and the resolver say when nobody answers. */
const SOCKET = new Set([
	'ECONNREFUSED',
	'ECONNRESET',
	'ECONNABORTED',
	'EPIPE',
	'ETIMEDOUT',
	'ENOTFOUND',
	'EAI_AGAIN',
	'EHOSTUNREACH',
	'ENETUNREACH',
]);

/** Prisma's own: cannot reach, timed out, connection closed, no connection free, no transaction begun in time. */
const PRISMA_AWAY = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028']);

/** Sorts an error of `pg` or Prisma by what a caller can do about it. */
export function troubleOf(error: unknown): DbTrouble {
	const code = codeOf(error);
	if (code === undefined) return isConnectionFault(error) ? 'away' : 'bug';
	if (RETRYABLE.has(code) || code === 'P2034') return 'retryable';
	if (DATA.has(code.slice(0, 2))) return 'data';
	// 08 connection but for a protocol violation, 53 resources, 57 operator intervention (shutdown, terminated, statement time-out), 58 system; 25006 read-only.
	if (/^(08(?!P01)|53|57|58)/.test(code) || code === '25006' || SOCKET.has(code) || PRISMA_AWAY.has(code)) return 'away';
	return isConnectionFault(error) ? 'away' : 'bug';
}

/** The SQLSTATE wherever it is: Prisma hides the database's own code behind one of its own. */
function codeOf(error: unknown): string | undefined {
	if (typeof error !== 'object' || error === null) return undefined;
	const { code, cause, errors, meta, originalCode } = error as Readonly<Record<string, unknown>>;
	const inner = [
		...(Array.isArray(errors) ? errors : []),
		cause,
		(meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError,
	]
		.map(codeOf)
		.find((one) => one !== undefined);
	const own = typeof originalCode === 'string' ? originalCode : typeof code === 'string' ? code : undefined;
	return own === undefined || (own.startsWith('P2') && inner !== undefined) ? inner : own;
}

function isConnectionFault(error: unknown): boolean {
	const text = error instanceof Error ? error.message : String(error);
	return /connection|terminated|timeout|timed out|socket|ECONN|not queryable/i.test(text);
}

/**
 * Runs `act` in one transaction on one connection; runs it again, at most five times with jitter, when the database asks for that.
 * `single`: `act` is one statement, which is a transaction by itself, so begin and commit are left out.
 */
export async function inTransaction<T>(pool: pg.Pool, act: (client: pg.PoolClient) => Promise<T>, single = false): Promise<T> {
	for (let round = 1; ; round += 1) {
		try {
			return await once(pool, act, single);
		} catch (error) {
			if (round >= 5 || troubleOf(error) !== 'retryable') throw error;
			await new Promise((resolve) => setTimeout(resolve, random() * 20 * 2 ** round));
		}
	}
}

async function once<T>(pool: pg.Pool, act: (client: pg.PoolClient) => Promise<T>, single: boolean): Promise<T> {
	const client = await pool.connect();
	let broken: Error | undefined;
	try {
		if (single) return await act(client);
		await client.query('begin');
		const result = await act(client);
		await client.query('commit');
		return result;
	} catch (error) {
		if (troubleOf(error) === 'away') broken = error instanceof Error ? error : new Error(String(error));
		else if (!single) {
			await client.query('rollback').catch((failure: Error) => {
				broken = failure;
			});
		}
		throw error;
	} finally {
		client.release(broken);
	}
}
