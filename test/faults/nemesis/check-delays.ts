import type { Db } from '@tidings/db';

/**
 * I5: attempts that came before their time. After a plain refusal of the mail itself (no gate, no person in between) the next claim is at least half of the first delay away, and never before
 * the refusal was written. What was written after its lease was over says nothing: another had the record by then. `baseSeconds`: the first delay before jitter. Empty when all waited.
 */
export async function brokenDelays(
	db: Db,
	{ baseSeconds, leaseSeconds }: { baseSeconds: number; leaseSeconds: number },
): Promise<string[]> {
	const { rows } = await db.pool.query<{ id: string; no: number; seconds: number }>(
		`select a.id, b.attempt_no as no, round(extract(epoch from b.started_at - a.finished_at)::numeric, 3)::float8 as seconds
		from delivery_attempt a join delivery_attempt b on b.id = a.id and b.attempt_no = a.attempt_no + 1
		where a.outcome = 'REFUSED' and a.category = 'TRANSIENT' and a.stage in ('MAIL', 'RCPT', 'DATA', 'DOT')
			and b.started_at - a.finished_at < make_interval(secs => $1::float8 / 2)
			and a.finished_at < a.started_at + make_interval(secs => $2::float8)
			and not exists (select from audit_event e where e.subject_id = a.id)`,
		[baseSeconds, leaseSeconds],
	);
	return rows.map(({ id, no, seconds }) => `I5 ${id} was claimed for attempt ${no} ${seconds} s after it had been refused`);
}
