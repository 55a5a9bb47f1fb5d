import type { Queryable } from '../client.js';
import { walkConditions } from '../letter-conditions.js';
import { filterOf } from '../replaying.js';
import type { TakenReplay } from './take-replay.js';

/**
 * The letters whose turn is next in a replay, by id, at most `limit`; fewer: they are the last. Of a filter those that are open and were written before it began,
 * by dead_letter_pending; else those of the ids, whether they are there or not.
 */
export async function nextLetters(client: Queryable, replay: TakenReplay, limit: number): Promise<string[]> {
	const { rows } = replay.filter === null ? await nextIds(client, replay, limit) : await nextMatches(client, replay, limit);
	return rows.map((row) => row.id);
}

async function nextIds(client: Queryable, { id, tenantId, lastId }: TakenReplay, limit: number): Promise<{ rows: { id: string }[] }> {
	return await client.query<{ id: string }>({
		name: 'next-ids',
		text: `
			select i.id from dead_letter_replay p cross join unnest(p.letter_ids) as i (id)
			where p.id = $1::uuid and p.tenant_id = $2::uuid and ($3::uuid is null or i.id > $3::uuid) order by i.id limit $4`,
		values: [id, tenantId, lastId, limit],
	});
}

async function nextMatches(client: Queryable, replay: TakenReplay, limit: number): Promise<{ rows: { id: string }[] }> {
	const after = replay.lastId === null ? {} : { after: replay.lastId };
	const conditions = walkConditions(replay.tenantId, { ...filterOf(replay.filter ?? {}), ...after, status: 'PENDING' }, 'l');
	conditions.where(
		replay.id,
		(p) => `(l.created_at < (select created_at from dead_letter_replay where id = ${p}::uuid and tenant_id = $1::uuid)) is true`,
	);
	conditions.values.push(limit);
	return await client.query<{ id: string }>({
		text: `select l.id from dead_letter_message l where ${conditions.text()} order by l.tenant_id, l.id limit $${conditions.values.length}`,
		values: conditions.values,
	});
}
