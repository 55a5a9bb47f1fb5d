import type { MonthlyCaps, QuotaChannel } from '@tidings/model';
import type { Queryable } from '../client.js';
import { bucketsFrom, bucketValues, type QuotaCost } from '../quota-costs.js';

/** What is left in a bucket. `used` rises as it is given away. `told`: that it is used up was told already. */
export type Room = {
	readonly tenantId: string;
	readonly channel: QuotaChannel;
	readonly month: string;
	readonly cap: number | null;
	readonly told: boolean;
	used: number;
};

/**
 * Holds the buckets of these costs until the commit and answers the room in each, in their order; two costs of one bucket share their room. One whose row is not there yet is not held: who takes
 * it then may meet another who makes it, and its check, or even a deadlock, which the database ends; both are run again. In sorted order otherwise, so that two transactions never wait for each
 * other; by the primary key.
 */
export async function lockQuota(client: Queryable, costs: readonly QuotaCost[], caps: MonthlyCaps): Promise<Room[]> {
	const { rows } = await client.query<{
		n: number;
		tenant_id: string;
		channel: QuotaChannel;
		month: string;
		cap: string | null;
		used: string;
		told: boolean;
	}>({
		name: 'lock-quota',
		text: `
			select b.n::int, b.tenant_id, b.channel, to_char(b.month, 'YYYY-MM') as month, b.cap, coalesce(u.used, 0) as used, coalesce(u.told, false) as told
			from (select * from (${bucketsFrom(1)}) as b order by tenant_id, channel, n) as b
			left join lateral (
				select used, warned100 is not null as told from tenant_message_usage u where u.tenant_id = b.tenant_id and u.channel = b.channel and u.month = b.month for no key update
			) as u on true`,
		values: bucketValues(costs, caps),
	});
	const rooms = new Map<string, Room>();
	const byCost: Room[] = [];
	for (const { n, tenant_id: tenantId, channel, month, cap, used, told } of rows) {
		const bucket = `${tenantId} ${channel}`;
		const room = rooms.get(bucket) ?? { tenantId, channel, month, cap: cap === null ? null : Number(cap), used: Number(used), told };
		rooms.set(bucket, room);
		byCost[n - 1] = room;
	}
	return byCost;
}
