import type { DeadLetterSource } from '@tidings/model';
import type { Queryable } from '../client.js';

/** Open dead letters of one source, and how long the oldest of them has waited. */
export type LetterMeasure = { readonly source: DeadLetterSource; readonly count: number; readonly oldestSeconds: number };

/** Counts the open dead letters of all tenants by source, for metrics without a tenant label; a source without any is left out. Reads dead_letter_open alone. */
export async function measureLetters(pool: Queryable): Promise<LetterMeasure[]> {
	const { rows } = await pool.query<LetterMeasure>(`
		select source, count(*)::int as count, greatest(0, extract(epoch from now() - min(created_at)))::float8 as "oldestSeconds"
		from dead_letter_message where status = 'PENDING' group by 1`);
	return rows;
}
