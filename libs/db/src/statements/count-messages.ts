import { idAt } from '@tidings/model';
import type { Queryable } from '../client.js';

/** By what messages can be counted, each with where it stands. */
const DIMENSIONS = {
	channel: 'r.channel',
	status: 's.status',
	type: 'r.type',
	priority: 'r.lane',
	scope: 'r.scope',
	serverId: 'r.config_id::text',
	day: `to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD')`,
	hour: `to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00.000"Z"')`,
} as const;

/** What messages can be counted by. `day` and `hour` are of acceptance, in UTC. */
export type StatDimension = keyof typeof DIMENSIONS;

/** Every dimension. */
export const STAT_DIMENSIONS = Object.keys(DIMENSIONS) as readonly StatDimension[];

/** One group: its value in each dimension that was asked for, and how many messages are in it. */
export type StatRow = Readonly<Partial<Record<StatDimension, string | null>>> & { readonly count: number };

/** Clocks of the services and of the database may differ by this much, so the ids of a time range are looked for this much further. */
const SLACK_MS = 3_600_000;

/**
 * Counts a tenant's messages that were accepted in [from, to), by the dimensions given; at most `limit` groups, in the order of their values.
 * Walks the range of ids in send_record_list; states are joined only when they are asked for, by the same range of their primary key.
 */
export async function countMessages(
	pool: Queryable,
	tenantId: string,
	range: { readonly from: Date; readonly to: Date; readonly by: readonly StatDimension[] },
	limit: number,
): Promise<StatRow[]> {
	const { from, to, by } = range;
	const states = by.includes('status')
		? 'join send_state s on s.id = r.id and s.tenant_id = r.tenant_id and s.id >= $4::uuid and s.id < $5::uuid'
		: '';
	const columns = by.map((one, n) => `${DIMENSIONS[one]} collate "C" as d${n}`);
	const groups = by.map((_, n) => `d${n}`).join(', ');
	const { rows } = await pool.query<Record<string, string | null> & { count: string }>({
		text: `
			select ${groups}, count(*) as count from (
				select ${columns.join(', ')} from send_record r ${states}
				where r.tenant_id = $1 and r.id >= $4::uuid and r.id < $5::uuid and r.created_at >= $2::timestamptz and r.created_at < $3::timestamptz
			) as m
			group by ${groups} order by ${by.map((_, n) => `d${n} nulls first`).join(', ')} limit $6`,
		values: [tenantId, from, to, idAt(new Date(from.getTime() - SLACK_MS)), idAt(new Date(to.getTime() + SLACK_MS)), limit],
	});
	return rows.map((row) => ({ ...Object.fromEntries(by.map((one, n) => [one, row[`d${n}`] ?? null])), count: Number(row.count) }));
}
