/**
 * Why a letter cannot be replayed, as SQL; null when it can. `l` is the letter's row, `s` the state and `r` the record of its message, both left-joined by `VERDICT_JOINS`.
 * The values are the keys of `REPLAY_REFUSALS`.
 */
export const VERDICT = `case
		when l.id is null then 'not-found'
		when l.status <> 'PENDING' then 'letter-closed'
		when l.record_id is null then 'no-message'
		when s.id is null or r.id is null then 'message-gone'
		when s.status not in ('DEAD_LETTER', 'EXPIRED', 'HELD') and not (l.source = 'BROKER_POISON' and s.status in ('PENDING', 'RETRY')) then 'message-state'
		when r.valid_until <= now() then 'too-late'
	end`;

/** The message of a letter, by the primary keys. */
export const VERDICT_JOINS = `left join send_state s on s.id = l.record_id and s.tenant_id = l.tenant_id
		left join send_record r on r.id = l.record_id and r.tenant_id = l.tenant_id`;
