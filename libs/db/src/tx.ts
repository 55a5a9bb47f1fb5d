import { random } from '@tidings/model';
import type pg from 'pg';

/** SQLSTATEs after which the whole transaction is simply run again: serialization failure, deadlock, lock not available. */
const RETRYABLE = new Set(['40001', '40P01', '55P03']);

/** SQLSTATE classes in which the data itself is at fault: data exception, integrity constraint violation. */
const DATA = new Set(['22', '23']);

/** What kind of trouble a database error is. `away`: the server cannot be reached, is starting, stopping or full; nothing is wrong with the statement. */
export type DbTrouble = 'retryable' | 'data' | 'away' | 'bug';

/** Sorts an error of `pg` or Prisma by what a caller can do about it. */
export function troubleOf(error: unknown): DbTrouble {
	const code = codeOf(error);
	if (code === undefined) return isConnectionFault(error) ? 'away' : 'bug';
	if (RETRYABLE.has(code)) return 'retryable';
	if (DATA.has(code.slice(0, 2))) return 'data';
	// 08 connection, 53 resources, 57 operator intervention (shutdown, terminated), 58 system; 25006 read-only; E… are sockets' own codes; P1/P2024 are Prisma's.
	if (/^(08|53|57|58)/.test(code) || code === '25006' || /^E[A-Z_]+$/.test(code) || /^P(10|2024|2028)/.test(code)) return 'away';
	return isConnectionFault(error) ? 'away' : 'bug';
}

function codeOf(error: unknown): string | undefined {
	if (typeof error !== 'object' || error === null) return undefined;
	const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
	if (typeof code === 'string') return code;
	if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
	if (typeof cause === 'object' && cause !== null && 'originalCode' in cause && typeof cause.originalCode === 'string')
		return cause.originalCode;
	return cause === undefined ? undefined : codeOf(cause);
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
