import type { QuotaWarning } from '../accepting.js';
import { bucketsFrom } from '../quota-costs.js';

/** The name of the check that a full bucket breaks. */
const WITHIN_CAP = 'tenant_message_usage_within_cap';

/**
 * SQL that takes what records cost, as CTEs of the statement that writes them: `crossed` has the shares of a cap that were reached by it. `first` is the number of the first of six
 * parameters (`bucketValues`), and of a seventh: whether the records count beyond a full bucket, too, which then remembers what it holds as its cap. `after` counts rows that are written before: a bucket is held from here to the commit only, for it is what all callers of a tenant wait for. A bucket that has
 * no room breaks its check, and with it the whole transaction. Rows are taken in sorted order, so that two transactions never wait for each other; by the primary key.
 */
export function takeQuota(first: number, after: string): string {
	const reached = (used: string, cap: string, percent: number): string => `${used} * 100 >= ${cap} * ${percent}`;
	const warned = (percent: number): string =>
		`warned${percent} = coalesce(u.warned${percent}, case when ${reached('(u.used + excluded.used)', 'excluded.cap', percent)} then excluded.last_record_id end)`;
	const first100 = (percent: number): string => `case when ${reached('cost', 'cap', percent)} then record_id end`;
	const held = (cap: string, used: string): string =>
		`case when $${first + 6}::boolean and ${cap} is not null then greatest(${cap}, ${used}) else ${cap} end`;
	return `
	bucket as materialized (
		select tenant_id, channel, month, sum(cost)::bigint as cost, min(cap) as cap, max(record_id::text)::uuid as record_id
		from (${bucketsFrom(first)}) as b group by tenant_id, channel, month
	),
	taken as (
		insert into tenant_message_usage as u (tenant_id, channel, month, used, cap, last_record_id, warned80, warned100)
		select tenant_id, channel, month, cost, ${held('cap', 'cost')}, record_id, ${first100(80)}, ${first100(100)}
		from bucket where (${after}) >= 0 order by tenant_id, channel
		on conflict (tenant_id, channel, month) do update
		set used = u.used + excluded.used, cap = ${held('excluded.cap', 'u.used + excluded.used')}, last_record_id = excluded.last_record_id, ${warned(80)}, ${warned(100)}
		returning tenant_id, channel, month, used, warned80 = last_record_id as first80, warned100 = last_record_id as first100
	),
	crossed as materialized (
		select tenant_id, channel, to_char(month, 'YYYY-MM') as month, level, used, cap
		from taken join bucket using (tenant_id, channel, month) cross join lateral (values (80, first80), (100, first100)) as l (level, is_first) where is_first
	),
	${WARNING}`;
}

/** A CTE that writes down what was `crossed`. */
export const WARNING = `warning as (
		insert into audit_event (id, tenant_id, actor, action, subject_type, subject_id, detail)
		select uuid_v7(), tenant_id, 'mesh', 'quota.warn', 'tenant', tenant_id,
			jsonb_build_object('channel', channel, 'month', month, 'percent', level::text, 'used', used::text, 'cap', cap::text)
		from crossed
	)`;

/** Selects what was crossed, as `readWarnings` takes it. */
export const CROSSED = `(
	select json_agg(json_build_object('tenantId', tenant_id, 'channel', channel, 'month', month, 'level', level, 'used', used, 'cap', cap)) from crossed
)`;

/** The rows of `CROSSED`; null when nothing was. */
export function readWarnings(crossed: QuotaWarning[] | null): readonly QuotaWarning[] {
	return crossed ?? [];
}

/** Whether a statement failed because a bucket has no room. */
export function isQuotaFull(error: unknown): boolean {
	const { code, constraint } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown; constraint?: unknown };
	return code === '23514' && constraint === WITHIN_CAP;
}
