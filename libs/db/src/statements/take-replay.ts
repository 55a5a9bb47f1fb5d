import type { Queryable } from '../client.js';
import type { RefusalCounts, UnreplayedLetter } from '../replaying.js';

/** A replay whose row is locked until the transaction ends. */
export type TakenReplay = {
	readonly id: string;
	readonly tenantId: string;
	readonly filter: Readonly<Record<string, string>> | null;
	readonly lastId: string | null;
	readonly ratePerSecond: number;
	readonly note: string | null;
	readonly actor: string;
	readonly traceId: string;
	readonly refusals: RefusalCounts;
	readonly sample: readonly UnreplayedLetter[];
};

/** Replays that are looked at: those before the first may be in the hands of others. */
const LOOKED_AT = 20;

/**
 * Names the replays of all tenants whose next letters are due, the longest due first: they are worked off for whoever asked. By dead_letter_replay_running; locks nothing.
 */
export async function findDueReplays(pool: Queryable): Promise<{ readonly id: string; readonly tenantId: string }[]> {
	const { rows } = await pool.query<{ id: string; tenantId: string }>({
		name: 'find-due-replays',
		text: `
			select id, tenant_id as "tenantId" from dead_letter_replay where status = 'RUNNING' and next_at <= now()
			order by next_at limit ${LOOKED_AT}`,
	});
	return rows;
}

/** Locks a replay that is still due; null when it is not, or when another service has it. The lock is its lease: it ends with the transaction, whatever happens to the service. */
export async function takeReplay(client: Queryable, tenantId: string, id: string): Promise<TakenReplay | null> {
	const { rows } = await client.query<TakenReplay>({
		name: 'take-replay',
		text: `
			select id, tenant_id as "tenantId", filter, last_id as "lastId", rate_per_second as "ratePerSecond", note, actor, trace_id as "traceId", refusals, sample
			from dead_letter_replay where id = $1::uuid and tenant_id = $2::uuid and status = 'RUNNING' and next_at <= now()
			for update skip locked`,
		values: [id, tenantId],
	});
	return rows[0] ?? null;
}
