import { monotonic } from '@tidings/model';
import type pg from 'pg';

/**
 * Whether a transaction whose COMMIT got no answer took effect: waits until its backend has ended (at most ten seconds, over a database restart too),
 * so that the answer is final, then looks for its records by id. Throws when that cannot be found out in time.
 */
export async function wasCommitted(pool: pg.Pool, backend: number, ids: readonly string[]): Promise<boolean> {
	const until = monotonic() + 10_000;
	for (;;) {
		try {
			const { rowCount } = await pool.query(`select from pg_stat_activity where pid = $1 and pid <> pg_backend_pid() and state <> 'idle'`, [
				backend,
			]);
			// A statement of its own: its snapshot is younger than the backend's end.
			const { rows } = await pool.query<{ found: boolean }>('select exists (select from send_record where id = any($1::uuid[])) as found', [
				ids,
			]);
			if (rows[0]?.found === true) return true;
			if (rowCount === 0) return false;
		} catch (error) {
			if (monotonic() > until) throw error;
		}
		if (monotonic() > until) throw new Error('the outcome of a commit could not be found out');
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}
