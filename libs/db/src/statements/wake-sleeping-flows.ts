import type { Queryable } from '../client.js';
import { HALTED_TENANTS } from './halted-tenants.js';

/**
 * Finds flows that sleep although something of theirs waits and their tenant may send, and wakes them at its due time: heals the hint that a crash swallowed. Crosses tenants by nature.
 * A skip scan over outbox_entry_waiting: one index probe for each flow that has anything NEW. Returns how many were woken.
 */
export async function wakeSleepingFlows(pool: Queryable): Promise<number> {
	const { rowCount } = await pool.query({
		name: 'wake-sleeping-flows',
		text: `
			with recursive waiting as (
				(select flow_id, due_at from outbox_entry where not taken order by flow_id, due_at limit 1)
				union all
				select n.flow_id, n.due_at from waiting w
				cross join lateral (select flow_id, due_at from outbox_entry where not taken and flow_id > w.flow_id order by flow_id, due_at limit 1) as n
			),
			asleep as materialized (
				select f.id, w.due_at from waiting w join flow f on f.id = w.flow_id
				left join gate g on g.id = f.gate left join gate p on p.route = f.route
				where (f.next_at is null or f.next_at > greatest(w.due_at, g.closed_until, p.closed_until, case when g.half_open then g.trial_until end) + interval '1 second')
					and f.tenant_id not in (${HALTED_TENANTS})
					-- It wakes when the first of them may go.
					and not exists (select from outbox_entry h where h.flow_id = f.id and h.held_until > now())
				order by f.id for no key update of f skip locked
			)
			update flow f set next_at = asleep.due_at, held = 0 from asleep where f.id = asleep.id`,
	});
	return rowCount ?? 0;
}
