import type { Queryable } from '../client.js';
import type { RefusalCounts, UnreplayedLetter } from '../replaying.js';
import { moveReplays } from '../transition.js';

/** What a replay has done in one step, and what is known of all of it since. */
export type ReplayStep = {
	readonly lastId: string | null;
	readonly replayed: number;
	readonly refused: number;
	readonly failed: number;
	/** Of the whole replay. */
	readonly refusals: RefusalCounts;
	readonly sample: readonly UnreplayedLetter[];
};

/** A replay that was late may catch up with so much, no more: its rate holds over any longer time. */
const CATCH_UP = `interval '1 second'`;

const FINISH = moveReplays('finish', { row: 'p', to: 'DONE' });
const FAIL = moveReplays('fail', { row: 'p', to: 'FAILED' });

/** Writes how far a replay has come, in the transaction that replays; its next letters are due when its rate allows. The caller holds its row. */
export async function advanceReplay(client: Queryable, tenantId: string, id: string, step: ReplayStep): Promise<void> {
	await client.query({
		name: 'advance-replay',
		text: `
			update dead_letter_replay p set last_id = coalesce($3::uuid, p.last_id), replayed = p.replayed + $4::int, refused = p.refused + $5::int, failed = p.failed + $6::int,
				refusals = $7::jsonb, sample = $8::jsonb,
				next_at = greatest(p.next_at, now() - ${CATCH_UP}) + make_interval(secs => ($4::int + $5::int + $6::int)::float8 / p.rate_per_second)
			where p.id = $1::uuid and p.tenant_id = $2::uuid`,
		values: [
			id,
			tenantId,
			step.lastId,
			step.replayed,
			step.refused,
			step.failed,
			JSON.stringify(step.refusals),
			JSON.stringify(step.sample),
		],
	});
}

/**
 * Ends a replay: every letter had its turn. What was closed by others before its turn came counts as refused; a letter whose transaction had begun before the replay and ended
 * after it was counted adds to what matched. So the counts always add up.
 */
export async function finishReplay(client: Queryable, tenantId: string, id: string): Promise<void> {
	await client.query({
		name: 'finish-replay',
		text: `
			update dead_letter_replay p set ${FINISH.set}, matched = greatest(p.matched, d.done), refused = p.refused + greatest(0, p.matched - d.done),
				refusals = case when p.matched > d.done
					then p.refusals || jsonb_build_object('letter-closed', coalesce((p.refusals->>'letter-closed')::int, 0) + p.matched - d.done) else p.refusals end
			from (select replayed + refused + failed as done from dead_letter_replay where id = $1::uuid and tenant_id = $2::uuid) as d
			where p.id = $1::uuid and p.tenant_id = $2::uuid and ${FINISH.guard}`,
		values: [id, tenantId],
	});
}

/** Ends a replay that cannot go on. */
export async function failReplay(client: Queryable, tenantId: string, id: string, error: string): Promise<void> {
	await client.query({
		name: 'fail-replay',
		text: `update dead_letter_replay p set ${FAIL.set}, error = $3 where p.id = $1::uuid and p.tenant_id = $2::uuid and ${FAIL.guard}`,
		values: [id, tenantId, error],
	});
}
