import type { Queryable } from '../client.js';
import type { ReplayRow } from '../replaying.js';

const COLUMNS = `id, status, filter, rate_per_second as "ratePerSecond", note, actor, matched, replayed, refused, failed, refusals, sample, error,
	created_at as "createdAt", finished_at as "finishedAt"`;

/** Which replays are wanted; what is absent does not filter. `before`: older than this one. */
export type ReplayFilter = { readonly status?: string; readonly before?: string };

/** A tenant's replays, newest first, at most `limit`. Walks dead_letter_replay_list. */
export async function listReplays(pool: Queryable, tenantId: string, filter: ReplayFilter, limit: number): Promise<ReplayRow[]> {
	const { rows } = await pool.query<ReplayRow>({
		name: 'list-replays',
		text: `
			select ${COLUMNS} from dead_letter_replay
			where tenant_id = $1::uuid and ($2::text is null or status = $2) and ($3::uuid is null or id < $3::uuid)
			order by id desc limit $4`,
		values: [tenantId, filter.status ?? null, filter.before ?? null, limit],
	});
	return rows;
}

/** One replay of a tenant; null when it is not there or not the tenant's. */
export async function findReplay(pool: Queryable, tenantId: string, id: string): Promise<ReplayRow | null> {
	const { rows } = await pool.query<ReplayRow>({
		name: 'find-replay',
		text: `select ${COLUMNS} from dead_letter_replay where id = $1::uuid and tenant_id = $2::uuid`,
		values: [id, tenantId],
	});
	return rows[0] ?? null;
}
