import type { MonthlyCaps, QuotaChannel } from '@tidings/model';
import type { NewRecord } from './accepting.js';

/** What records cost of one bucket. Two of them may be the same bucket: the platform's, for several tenants. */
export type QuotaCost = {
	/** Whose records they are. */
	readonly tenantId: string;
	/** `PLATFORM`: the bucket is the platform's own. */
	readonly scope: 'TENANT' | 'PLATFORM';
	readonly channel: QuotaChannel;
	readonly cost: number;
	/** The last of the records. */
	readonly recordId: string;
};

/** What one record costs of its channel's quota: a mail its recipients. */
export function costOf(record: Pick<NewRecord, 'channel' | 'recipients'>): { channel: QuotaChannel; cost: number } {
	switch (record.channel) {
		case 'MAIL':
			return { channel: 'MAIL', cost: record.recipients.length };
	}
}

/** What these records cost together, by bucket. */
export function costsOf(records: readonly NewRecord[]): QuotaCost[] {
	const sums = new Map<string, QuotaCost>();
	for (const record of records) {
		const { tenantId, scope, id } = record;
		const { channel, cost } = costOf(record);
		const key = `${scope} ${channel} ${tenantId}`;
		sums.set(key, { tenantId, scope, channel, cost: cost + (sums.get(key)?.cost ?? 0), recordId: id });
	}
	return [...sums.values()];
}

/** The parameters of `BUCKETS`. */
export function bucketValues(costs: readonly QuotaCost[], caps: MonthlyCaps): unknown[] {
	return [
		costs.map((one) => one.tenantId),
		costs.map((one) => one.scope),
		costs.map((one) => one.channel),
		costs.map((one) => one.cost),
		costs.map((one) => one.recordId),
		costs.map((one) => caps[one.channel]),
	];
}

/**
 * SQL of the buckets of costs, with the cap that holds for each: what the operator has set for the tenant, else the default. `first` is the number of the first of six parameters.
 * The platform's own tenant is the only one that is looked up across tenants: its bucket takes what is sent in its name. By tenant_one_platform and the primary key of tenant_message_quota.
 */
export function bucketsFrom(first: number): string {
	const arrays = ['uuid', 'text', 'text', 'bigint', 'uuid', 'bigint'].map((type, n) => `$${first + n}::${type}[]`).join(', ');
	return `
		select c.n, c.owner as tenant_id, c.channel, date_trunc('month', now() at time zone 'UTC')::date as month, c.cost, c.record_id,
			case when q.tenant_id is null then c.default_cap else q.cap end as cap
		from (
			select n, case scope when 'PLATFORM' then coalesce((select id from tenant where kind = 'PLATFORM'), tenant_id) else tenant_id end as owner,
				channel, cost, record_id, default_cap
			from unnest(${arrays}) with ordinality as c (tenant_id, scope, channel, cost, record_id, default_cap, n)
		) as c
		left join tenant_message_quota q on q.tenant_id = c.owner and q.channel = c.channel`;
}
