import type { QuotaChannel } from '@tidings/model';
import type { QuotaWarning } from '../accepting.js';
import type { Queryable } from '../client.js';
import { CROSSED, readWarnings, WARNING } from './take-quota.js';

/** A bucket of this month (UTC) and the cap that holds for it now. */
export type CappedBucket = { readonly tenantId: string; readonly channel: QuotaChannel; readonly cap: number };

/**
 * Warns of buckets that stand at 80 or 100 % of a cap that came down to what is used already, for no acceptance can tell of those: with an audit event, and once each per bucket and month.
 * Answers what is to be told. Name each bucket at most once; in sorted order, by the primary key.
 */
export async function warnQuota(client: Queryable, buckets: readonly CappedBucket[]): Promise<readonly QuotaWarning[]> {
	if (buckets.length === 0) return [];
	const { rows } = await client.query<{ warnings: QuotaWarning[] | null }>({
		name: 'warn-quota',
		text: `
			with bucket as materialized (
				select u.tenant_id, u.channel, u.month, u.used, b.cap, u.warned80, u.warned100
				from unnest($1::uuid[], $2::text[], $3::bigint[]) as b (tenant_id, channel, cap) join tenant_message_usage u using (tenant_id, channel)
				where u.month = date_trunc('month', now() at time zone 'UTC')::date order by u.tenant_id, u.channel for no key update of u
			),
			crossed as materialized (
				select tenant_id, channel, month as of, to_char(month, 'YYYY-MM') as month, level, used, cap
				from bucket cross join lateral (values (80, warned80), (100, warned100)) as l (level, warned) where warned is null and used * 100 >= cap * level
			),
			marked as (
				update tenant_message_usage u set
					warned80 = case when exists (select from crossed c where c.tenant_id = u.tenant_id and c.channel = u.channel and level = 80) then u.last_record_id else u.warned80 end,
					warned100 = case when exists (select from crossed c where c.tenant_id = u.tenant_id and c.channel = u.channel and level = 100) then u.last_record_id else u.warned100 end
				where (u.tenant_id, u.channel, u.month) in (select tenant_id, channel, of from crossed)
			),
			${WARNING}
			select ${CROSSED} as warnings`,
		values: [buckets.map((one) => one.tenantId), buckets.map((one) => one.channel), buckets.map((one) => one.cap)],
	});
	return readWarnings(rows[0]?.warnings ?? null);
}
