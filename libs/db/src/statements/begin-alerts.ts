import type { Queryable } from '../client.js';

/** The type of the mails that tell of letters. Letters about such a mail are told of by no mail. */
export const ALERT_TYPE = 'tidings.alert';

/**
 * Letters, `l`, that operators are told of, as SQL: not those about such a mail. Only the platform sends them: a tenant that calls its own messages so hides nothing.
 */
export const TOLD_OF = `not (l.type is not distinct from '${ALERT_TYPE}' and l.tenant_id = (select id from tenant where kind = 'PLATFORM'))`;

/** When causes are told of. */
export type AlertTimes = {
	/** A cause is told of at most once in so many seconds. */
	readonly everySeconds: number;
	/** A letter is told of when it is so many seconds old: a transaction that began before one that was told of has ended by then, so none is passed over. */
	readonly settleSeconds: number;
};

/** What is not told yet, by cause. */
const UNTOLD = `
	select l.source, coalesce(l.category, '') as category from dead_letter_message l
	left join dead_letter_alert a on a.source = l.source and a.category = coalesce(l.category, '')
	where l.status = 'PENDING' and ${TOLD_OF} and l.created_at <= now() - make_interval(secs => $1::float8)
		and l.created_at > coalesce(a.told_until, '-infinity')
	group by 1, 2 order by 1, 2`;

/**
 * Marks the causes of open letters of all tenants that operators are to be told of now, with the time that the telling covers; a mark stays until `endAlert`, also over a restart.
 * Of several services that ask at once, one marks. Reads dead_letter_open.
 */
export async function beginAlerts(pool: Queryable, { everySeconds, settleSeconds }: AlertTimes): Promise<void> {
	await pool.query({
		name: 'begin-alerts',
		text: `
			insert into dead_letter_alert as a (source, category, told_until, alerted_at, untold_from)
			select source, category, now() - make_interval(secs => $1::float8), now(), '-infinity' from (${UNTOLD}) as u
			on conflict (source, category) do update set untold_from = a.told_until, told_until = excluded.told_until, alerted_at = excluded.alerted_at
				where a.untold_from is null and a.alerted_at <= now() - make_interval(secs => $2::float8)`,
		values: [settleSeconds, everySeconds],
	});
}
