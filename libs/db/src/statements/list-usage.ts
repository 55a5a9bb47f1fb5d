import { type MonthlyCaps, QUOTA_CHANNELS, type QuotaChannel } from '@tidings/model';
import type { Queryable } from '../client.js';

/** What one bucket has used in a month. */
export type UsageRow = { readonly channel: QuotaChannel; readonly used: number; readonly cap: number | null };

/**
 * What a tenant has used of each channel in a month (`2026-11`), also where that is nothing. The cap of a month that is over is the one that held when its last message was taken,
 * of any other the one that holds now. By the primary keys.
 */
export async function listUsage(
	client: Queryable,
	tenantId: string,
	{ month, caps }: { readonly month: string; readonly caps: MonthlyCaps },
): Promise<UsageRow[]> {
	const { rows } = await client.query<{ channel: QuotaChannel; used: string; cap: string | null }>({
		name: 'list-usage',
		text: `
			select c.channel, coalesce(u.used, 0) as used,
				case
					when u.tenant_id is not null and u.month < date_trunc('month', now() at time zone 'UTC')::date then u.cap
					when q.tenant_id is not null then q.cap
					else c.default_cap
				end as cap
			from unnest($3::text[], $4::bigint[]) with ordinality as c (channel, default_cap, n)
			left join tenant_message_usage u on u.tenant_id = $1 and u.channel = c.channel and u.month = $2::date
			left join tenant_message_quota q on q.tenant_id = $1 and q.channel = c.channel
			order by c.n`,
		values: [tenantId, `${month}-01`, QUOTA_CHANNELS, QUOTA_CHANNELS.map((channel) => caps[channel])],
	});
	return rows.map(({ channel, used, cap }) => ({ channel, used: Number(used), cap: cap === null ? null : Number(cap) }));
}
