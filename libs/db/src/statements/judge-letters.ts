import type { Queryable } from '../client.js';
import { letterConditions } from '../letter-conditions.js';
import { REPLAY_SAMPLE, type RefusalCounts, type ReplaySelection, SAMPLE_OF_REASON, type UnreplayedLetter } from '../replaying.js';
import { VERDICT, VERDICT_JOINS } from './replay-verdict.js';

/** What a replay of these letters would do now. */
export type LetterVerdicts = {
	readonly matched: number;
	readonly replayable: number;
	/** Of those, how many may have been sent already without an answer. */
	readonly ambiguous: number;
	readonly refusals: RefusalCounts;
	readonly sample: readonly UnreplayedLetter[];
};

/** Says what a replay of these letters would do, and does nothing. Reads dead_letter_pending, or the ids, and their messages by the primary keys. */
export async function judgeLetters(client: Queryable, tenantId: string, selection: ReplaySelection): Promise<LetterVerdicts> {
	const { from, values } = chosen(tenantId, selection);
	const { rows } = await client.query<LetterVerdicts>({
		text: `
			with judged as materialized (${from}),
			refused as (select *, row_number() over (partition by reason order by letter_id) as n from judged where reason is not null)
			select (select count(*)::int from judged) as matched,
				(select count(*)::int from judged where reason is null) as replayable,
				(select count(*)::int from judged where reason is null and ambiguous) as ambiguous,
				(select coalesce(json_object_agg(reason, count), '{}') from (select reason, count(*)::int from refused group by 1) as c) as refusals,
				(select coalesce(json_agg(json_build_object('letterId', letter_id, 'reason', reason)), '[]')
					from (select * from refused where n <= ${SAMPLE_OF_REASON} order by letter_id limit ${REPLAY_SAMPLE}) as few) as sample`,
		values,
	});
	const [row] = rows;
	if (row === undefined) throw new Error('judge-letters answered no row');
	return row;
}

function chosen(tenantId: string, selection: ReplaySelection): { from: string; values: unknown[] } {
	if (selection.kind === 'ids')
		return {
			from: `
				select i.id as letter_id, ${VERDICT} as reason, s.ambiguous from (select distinct id from unnest($2::uuid[]) as i (id)) as i
				left join dead_letter_message l on l.id = i.id and l.tenant_id = $1::uuid ${VERDICT_JOINS}`,
			values: [tenantId, selection.ids],
		};
	const conditions = letterConditions(tenantId, { ...selection.filter, status: 'PENDING' }, 'l');
	return {
		from: `select l.id as letter_id, ${VERDICT} as reason, s.ambiguous from dead_letter_message l ${VERDICT_JOINS} where ${conditions.text()}`,
		values: conditions.values,
	};
}
