import type { Machine } from './machine.js';

/** Every state of an outbox entry. The claim removes the row, so there is no state for "done". */
export const OUTBOX_STATUSES = ['NEW', 'PUBLISHING', 'PUBLISHED', 'DEAD'] as const;
export type OutboxStatus = (typeof OUTBOX_STATUSES)[number];

/** What may move an outbox entry. */
export type OutboxAct =
	| 'take' // a publisher leases a due row
	| 'mark' // the broker confirmed it
	| 'give-back' // it could not be published: outage, missing topic, refusal
	| 'bury' // the broker refused it ten times
	| 'hand-back' // a sender got it and may not send it now: its gate is closed, or full
	| 'heal' // a lease ran out, or the broker lost everything
	| 'reopen' // its tenant may send again: its message may have come meanwhile, and was not taken
	| 'requeue'; // a person reopens a dead row, or replaces a row by a fresh one

/** The state table of an outbox entry. */
export const outboxMachine: Machine<OutboxStatus, OutboxAct> = {
	name: 'outbox_entry',
	states: OUTBOX_STATUSES,
	moves: [
		{ act: 'take', from: 'NEW', to: 'PUBLISHING' },
		{ act: 'mark', from: 'PUBLISHING', to: 'PUBLISHED' },
		{ act: 'give-back', from: 'PUBLISHING', to: 'NEW' },
		{ act: 'bury', from: 'PUBLISHING', to: 'DEAD' },
		{ act: 'hand-back', from: 'PUBLISHING', to: 'NEW' },
		{ act: 'hand-back', from: 'PUBLISHED', to: 'NEW' },
		{ act: 'heal', from: 'PUBLISHING', to: 'NEW' },
		{ act: 'heal', from: 'PUBLISHED', to: 'NEW' },
		{ act: 'reopen', from: 'PUBLISHING', to: 'NEW' },
		{ act: 'reopen', from: 'PUBLISHED', to: 'NEW' },
		{ act: 'requeue', from: 'NEW', to: 'NEW' },
		{ act: 'requeue', from: 'PUBLISHING', to: 'NEW' },
		{ act: 'requeue', from: 'PUBLISHED', to: 'NEW' },
		{ act: 'requeue', from: 'DEAD', to: 'NEW' },
	],
};
