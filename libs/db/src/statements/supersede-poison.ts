import { moveLetters } from '../transition.js';

const MOVE = moveLetters('resolve', { row: 'l', to: 'RESOLVED' });

/**
 * Closes what the broker gave up on, in the statement that gives these records a letter of their own: a record has one open letter, and that one says how it ended.
 * `owed` names the CTE of those records; the insert of their letters has to ask for `SUPERSEDED`, so that it comes second.
 */
export function supersedePoison(owed: string): string {
	return `superseded as (
		update dead_letter_message l set ${MOVE.set}, resolution = 'superseded', actor = 'mesh'
		-- By dead_letter_one_pending: with the source as it is the planner would rather walk all open poison.
		where l.record_id = any(array(select id from ${owed})) and l.source || '' = 'BROKER_POISON' and ${MOVE.guard}
		returning 1
	)`;
}

/** Always true, once the poison is superseded. */
export const SUPERSEDED = '(select count(*) from superseded) >= 0';
