import type { DeadLetterSource } from '@tidings/model';
import type { Queryable } from '../client.js';
import { TOLD_OF } from './begin-alerts.js';

/** Letters that are named in a mail at most. */
const NAMED = 5;

/** A cause that operators are to be told of. */
export type Alert = {
	readonly source: DeadLetterSource;
	/** Empty: none. */
	readonly category: string;
	/** Up to when the telling covers letters: seconds since 1970, exactly as the database has them. */
	readonly until: string;
	/** Letters that nobody was told of and that still wait, and all that wait. */
	readonly fresh: number;
	readonly open: number;
	/** The oldest of the fresh ones, at most five. */
	readonly examples: readonly { readonly id: string; readonly tenantId: string }[];
	/** Whose the fresh ones are: those with most of them, at most five, and how many tenants in all. */
	readonly most: readonly { readonly tenantId: string; readonly fresh: number }[];
	readonly tenants: number;
};

const OF_CAUSE = `l.status = 'PENDING' and l.source = a.source and coalesce(l.category, '') = a.category and ${TOLD_OF} and l.created_at <= a.told_until`;

/** The causes that are marked and not told, with what there is to tell, over all tenants: it is for the operator. By dead_letter_open. */
export async function listAlerts(pool: Queryable): Promise<Alert[]> {
	const { rows } = await pool.query<Alert>({
		name: 'list-alerts',
		text: `
			select a.source, a.category, extract(epoch from a.told_until)::text as until, c.fresh, c.open, e.examples, t.most, t.tenants
			from dead_letter_alert a
			cross join lateral (
				select count(*) filter (where l.created_at > a.untold_from)::int as fresh, count(*)::int as open from dead_letter_message l where ${OF_CAUSE}
			) as c
			cross join lateral (
				select coalesce(json_agg(json_build_object('id', x.id, 'tenantId', x.tenant_id)), '[]') as examples
				from (select l.id, l.tenant_id from dead_letter_message l where ${OF_CAUSE} and l.created_at > a.untold_from order by l.id limit ${NAMED}) as x
			) as e
			cross join lateral (
				select coalesce(json_agg(json_build_object('tenantId', tenant_id, 'fresh', fresh) order by fresh desc, tenant_id) filter (where n <= ${NAMED}), '[]') as most, count(*)::int as tenants
				from (
					select l.tenant_id, count(*)::int as fresh, row_number() over (order by count(*) desc, l.tenant_id) as n
					from dead_letter_message l where ${OF_CAUSE} and l.created_at > a.untold_from group by 1
				) as x
			) as t
			where a.untold_from is not null order by a.source, a.category`,
	});
	return rows;
}

/** Notes that a cause was told of, from when on it may be told of again; unless it was told of again meanwhile. */
export async function endAlert(pool: Queryable, { source, category, until }: Pick<Alert, 'source' | 'category' | 'until'>): Promise<void> {
	await pool.query({
		name: 'end-alert',
		text: `update dead_letter_alert set untold_from = null, alerted_at = now() where untold_from is not null and source = $1 and category = $2 and extract(epoch from told_until) = $3::numeric`,
		values: [source, category, until],
	});
}
