import type { Machine, Move } from './machine.js';

/** Every state of a record. */
export const SEND_STATUSES = [
	'PENDING',
	'RETRY',
	'SENDING',
	'SENT',
	'BOUNCED',
	'FAILED',
	'DEAD_LETTER',
	'HELD',
	'CANCELLED',
	'EXPIRED',
	'SKIPPED',
] as const;
export type SendStatus = (typeof SEND_STATUSES)[number];

/** Waiting for a claim: these, and only these, have a due time and an outbox row. */
export const OPEN_STATUSES = ['PENDING', 'RETRY'] as const satisfies readonly SendStatus[];

/** Nothing happens any more by itself: these, and only these, have a finishing time. HELD waits for a person and is not among them. */
export const FINISHED_STATUSES = [
	'SENT',
	'BOUNCED',
	'FAILED',
	'DEAD_LETTER',
	'CANCELLED',
	'EXPIRED',
	'SKIPPED',
] as const satisfies readonly SendStatus[];

/** What may move a record. */
export type SendAct =
	| 'claim' // a sender takes a due record
	| 'settle' // the sender writes what came of it, while it holds the lease
	| 'settle-late' // the sender writes a success after its lease was swept
	| 'sweep' // a lease ran out
	| 'expire' // too late to be of use
	| 'poison' // handling its message failed too often, in a way that nobody understands
	| 'retry' // a person: once more
	| 'release' // a person: decides about a held record
	| 'cancel' // a person or a superseding message: not any more
	| 'prove'; // a report or callback proves what happened

const move = (act: SendAct, from: SendStatus, ...to: SendStatus[]): Move<SendStatus, SendAct>[] =>
	to.map((one) => ({ act, from, to: one }));

/** The state table of a record: all channels share it. */
export const sendRecordMachine: Machine<SendStatus, SendAct> = {
	name: 'send_state',
	states: SEND_STATUSES,
	moves: [
		...move('claim', 'PENDING', 'SENDING', 'EXPIRED'),
		...move('claim', 'RETRY', 'SENDING', 'EXPIRED'),
		...move('settle', 'SENDING', 'SENT', 'RETRY', 'FAILED', 'DEAD_LETTER', 'HELD', 'CANCELLED', 'EXPIRED'),
		...move('settle-late', 'RETRY', 'SENT'),
		...move('settle-late', 'HELD', 'SENT'),
		...move('sweep', 'SENDING', 'RETRY', 'DEAD_LETTER', 'HELD', 'EXPIRED'),
		...move('expire', 'PENDING', 'EXPIRED'),
		...move('expire', 'RETRY', 'EXPIRED'),
		...move('poison', 'PENDING', 'DEAD_LETTER'),
		...move('poison', 'RETRY', 'DEAD_LETTER'),
		...move('retry', 'PENDING', 'PENDING'),
		...move('retry', 'RETRY', 'RETRY'),
		...move('retry', 'FAILED', 'RETRY'),
		...move('retry', 'DEAD_LETTER', 'RETRY'),
		...move('retry', 'EXPIRED', 'RETRY'),
		...move('retry', 'CANCELLED', 'RETRY'),
		...move('release', 'HELD', 'RETRY', 'SENT', 'FAILED'),
		...move('cancel', 'PENDING', 'CANCELLED'),
		...move('cancel', 'RETRY', 'CANCELLED'),
		...move('prove', 'SENT', 'BOUNCED'),
		...move('prove', 'HELD', 'SENT', 'BOUNCED'),
	],
};
