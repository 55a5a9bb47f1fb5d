import type { Queryable } from '../client.js';
import { letterConditions } from '../letter-conditions.js';
import { type ReplaySelection, storedFilter } from '../replaying.js';

/** A replay that is asked for. */
export type NewReplay = {
	readonly id: string;
	readonly tenantId: string;
	readonly selection: ReplaySelection;
	readonly ratePerSecond: number;
	readonly note: string | null;
	readonly actor: string;
	readonly traceId: string;
};

/** Writes a replay that is RUNNING, with the number of letters that it is about, in the caller's transaction. Counts by dead_letter_pending. */
export async function insertReplay(client: Queryable, replay: NewReplay): Promise<void> {
	const { selection } = replay;
	await client.query({
		name: 'insert-replay',
		text: `
			insert into dead_letter_replay (id, tenant_id, filter, letter_ids, rate_per_second, note, actor, trace_id, matched)
			values ($1::uuid, $2::uuid, $3::jsonb, $4::uuid[], $5::int, $6, $7, $8, $9::int)`,
		values: [
			replay.id,
			replay.tenantId,
			selection.kind === 'filter' ? JSON.stringify(storedFilter(selection.filter)) : null,
			selection.kind === 'ids' ? selection.ids : null,
			replay.ratePerSecond,
			replay.note,
			replay.actor,
			replay.traceId,
			selection.kind === 'ids' ? selection.ids.length : await countOpen(client, replay.tenantId, selection),
		],
	});
}

async function countOpen(client: Queryable, tenantId: string, { filter }: Extract<ReplaySelection, { kind: 'filter' }>): Promise<number> {
	const conditions = letterConditions(tenantId, { ...filter, status: 'PENDING' }, 'l');
	// As the turns take them: what was written since this transaction began is not among them.
	const { rows } = await client.query<{ count: number }>({
		text: `select count(*)::int as count from dead_letter_message l where ${conditions.text()} and l.created_at < now()`,
		values: conditions.values,
	});
	return rows[0]?.count ?? 0;
}
