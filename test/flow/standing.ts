import type { Db } from '@tidings/db';

/** How one record stands, in all its tables. */
export type Standing = {
	readonly status: string;
	readonly version: number;
	readonly attemptNo: number;
	readonly budgetUsed: number;
	readonly budgetMax: number;
	readonly ambiguous: boolean;
	readonly entries: number;
	readonly pendingLetters: number;
	readonly attempts: number;
	readonly defaultAge: boolean;
};

/** Reads how a record stands. */
export async function standingOf(db: Db, id: string): Promise<Standing> {
	const { rows } = await db.pool.query<Standing>(
		`select s.status, s.version, s.attempt_no as "attemptNo", s.budget_used as "budgetUsed", s.budget_max as "budgetMax", s.ambiguous,
			(select count(*)::int from outbox_entry o where o.id = s.id) as entries,
			(select count(*)::int from dead_letter_message l where l.record_id = s.id and l.status = 'PENDING') as "pendingLetters",
			(select count(*)::int from delivery_attempt a where a.id = s.id) as attempts,
			r.valid_until is null as "defaultAge"
		from send_state s join send_record r using (id) where s.id = $1`,
		[id],
	);
	const [row] = rows;
	if (row === undefined) throw new Error(`no record ${id}`);
	return row;
}

/** What is wrong with how a record stands; empty when the laws hold (faults I1, I4, I10). */
export function brokenLaws(standing: Standing): string[] {
	const open = standing.status === 'PENDING' || standing.status === 'RETRY';
	const lettered =
		standing.status === 'DEAD_LETTER' || standing.status === 'HELD' || (standing.status === 'EXPIRED' && standing.defaultAge);
	return [
		standing.entries === (open ? 1 : 0) ? '' : `${standing.status} with ${standing.entries} outbox entries`,
		standing.pendingLetters === (lettered ? 1 : 0) ? '' : `${standing.status} with ${standing.pendingLetters} open letters`,
		standing.attempts <= standing.attemptNo ? '' : `${standing.attempts} attempt rows for ${standing.attemptNo} claims`,
		standing.budgetUsed <= standing.budgetMax ? '' : `budget ${standing.budgetUsed} of ${standing.budgetMax}`,
	].filter((fault) => fault !== '');
}
