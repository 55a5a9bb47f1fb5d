import type { Machine } from './machine.js';

/** Every state of a replay of dead letters. */
export const REPLAY_STATUSES = ['RUNNING', 'DONE', 'STOPPED', 'FAILED'] as const;
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

/** What may move a replay. */
export type ReplayAct =
	| 'finish' // every letter had its turn
	| 'stop' // a person: no further letter
	| 'fail'; // it cannot go on, such as when its tenant is being deleted

/** The state table of a replay of dead letters. */
export const replayMachine: Machine<ReplayStatus, ReplayAct> = {
	name: 'dead_letter_replay',
	states: REPLAY_STATUSES,
	moves: [
		{ act: 'finish', from: 'RUNNING', to: 'DONE' },
		{ act: 'stop', from: 'RUNNING', to: 'STOPPED' },
		{ act: 'fail', from: 'RUNNING', to: 'FAILED' },
	],
};

/** Why a letter cannot be replayed, and what to know about it. */
export const REPLAY_REFUSALS = {
	'not-found': 'There is no such dead letter.',
	'letter-closed': 'The letter is closed already.',
	'no-message': 'No message is known that it is about, or another open letter has it.',
	'message-gone': 'Its message is not kept any more.',
	'message-state':
		'Its message is in a state that a replay does not leave: DEAD_LETTER, EXPIRED and HELD are sent again, and what the broker gave up on while its message waits is published again.',
	'too-late': 'The `validUntil` of its message is over: send a new message with a later one.',
} as const satisfies Record<string, string>;
export type ReplayRefusal = keyof typeof REPLAY_REFUSALS;
