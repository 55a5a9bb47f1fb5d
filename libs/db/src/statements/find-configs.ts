import type { Queryable } from '../client.js';

/** What a record asks of its provider config: how much of its rate windows, and which those are. */
export type ConfigUse = {
	readonly configId: string;
	/** 0: the config is gone. */
	readonly configVersion: number;
	/** Whose config it is: a tenant's, or the platform. */
	readonly ownerId: string;
	/** Recipients a minute and a UTC day; null: no such window. */
	readonly perMinute: number | null;
	readonly perDay: number | null;
	/** Recipients that are still open; counted only where there is a window, else 1. */
	readonly cost: number;
};

/** The provider config of each record; records that are unknown, or another tenant's, are left out. A config that is gone has no windows. Read by primary keys. */
export async function findConfigs(
	pool: Queryable,
	keys: readonly { recordId: string; tenantId: string }[],
): Promise<Map<string, ConfigUse>> {
	const { rows } = await pool.query<{
		id: string;
		config_id: string;
		version: number;
		owner_id: string;
		per_minute: number | null;
		per_day: number | null;
		cost: number;
	}>({
		name: 'find-configs',
		text: `
			select r.id, r.config_id, coalesce(c.version, 0) as version, coalesce(c.tenant_id, r.tenant_id) as owner_id, c.rate_per_minute as per_minute, c.daily_limit as per_day,
				case when c.rate_per_minute is null and c.daily_limit is null then 1
					else greatest(1, (select count(*)::int from send_recipient q where q.id = r.id and q.outcome = 'OPEN')) end as cost
			from unnest($1::uuid[], $2::uuid[]) as k (id, tenant_id)
			join send_record r using (id, tenant_id) left join mail_send_server_config c on c.id = r.config_id where r.config_id is not null`,
		values: [keys.map((key) => key.recordId), keys.map((key) => key.tenantId)],
	});
	return new Map(
		rows.map((row) => [
			row.id,
			{
				configId: row.config_id,
				configVersion: row.version,
				ownerId: row.owner_id,
				perMinute: row.per_minute,
				perDay: row.per_day,
				cost: row.cost,
			},
		]),
	);
}
