import type { Machine } from './machine.js';

/** Every state of a dead letter. */
export const DEAD_LETTER_STATUSES = ['PENDING', 'RESOLVED', 'DISCARDED'] as const;
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number];

/** Where a dead letter came from. */
export const DEAD_LETTER_SOURCES = ['SEND_EXHAUSTED', 'BROKER_POISON', 'AMBIGUOUS', 'EXPIRED', 'REPORT_FAILED'] as const;
export type DeadLetterSource = (typeof DEAD_LETTER_SOURCES)[number];

/** What may move a dead letter. */
export type DeadLetterAct =
	| 'resolve' // its record left by any road, or a person said so
	| 'discard'; // a person: not worth keeping open

/** The state table of a dead letter. */
export const deadLetterMachine: Machine<DeadLetterStatus, DeadLetterAct> = {
	name: 'dead_letter_message',
	states: DEAD_LETTER_STATUSES,
	moves: [
		{ act: 'resolve', from: 'PENDING', to: 'RESOLVED' },
		{ act: 'discard', from: 'PENDING', to: 'DISCARDED' },
	],
};
