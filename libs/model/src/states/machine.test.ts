import { describe, expect, test } from '@jest/globals';
import { deadLetterMachine } from './dead-letter.js';
import { isLegal, type Machine, movesOf, sourcesOf } from './machine.js';
import { outboxMachine } from './outbox.js';
import { replayMachine } from './replay.js';
import { FINISHED_STATUSES, OPEN_STATUSES, SEND_STATUSES, sendRecordMachine } from './send-record.js';
import { tenantMachine } from './tenant.js';

const machines: readonly Machine<string, string>[] = [sendRecordMachine, outboxMachine, deadLetterMachine, replayMachine, tenantMachine];

describe.each(machines)('the state table of $name', (machine) => {
	test('names each state once', () => {
		expect(new Set(machine.states).size).toBe(machine.states.length);
	});

	test('moves only between its own states', () => {
		const strangers = machine.moves.flatMap((move) => [move.from, move.to]).filter((status) => !machine.states.includes(status));
		expect(strangers).toEqual([]);
	});

	test('has each move once', () => {
		const rows = machine.moves.map((move) => `${move.act}: ${move.from} → ${move.to}`);
		expect(rows).toEqual([...new Set(rows)]);
	});

	test('answers for every act, source and target as its rows say', () => {
		for (const act of new Set(machine.moves.map((move) => move.act))) {
			for (const from of machine.states) {
				for (const to of machine.states) {
					const listed = movesOf(machine, act).some((move) => move.from === from && move.to === to);
					expect({ act, from, to, legal: isLegal(machine, act, from, to) }).toEqual({ act, from, to, legal: listed });
				}
				expect(sourcesOf(machine, act).includes(from)).toBe(movesOf(machine, act).some((move) => move.from === from));
			}
		}
	});

	test('leaves every state by some road, or ends there for good', () => {
		const reached = new Set(machine.moves.map((move) => move.to));
		const [first, ...others] = machine.states;
		// SKIPPED is born, never reached: nothing leads there and nothing leads away.
		const unreachable = others.filter((status) => !reached.has(status));
		expect(unreachable).toEqual(machine === machines[0] ? ['SKIPPED'] : []);
		expect(machine.moves.some((move) => move.from === first)).toBe(true);
	});
});

describe('the state table of a record', () => {
	test('is claimed, expired by the sweeper, cancelled and given up as poison from exactly the open states', () => {
		for (const act of ['claim', 'expire', 'cancel', 'poison'] as const) expect(sourcesOf(sendRecordMachine, act)).toEqual(OPEN_STATUSES);
	});

	test('is settled and swept only out of SENDING', () => {
		for (const act of ['settle', 'sweep'] as const) expect(sourcesOf(sendRecordMachine, act)).toEqual(['SENDING']);
	});

	test('reaches SENDING only by a claim', () => {
		const acts = sendRecordMachine.moves.filter((move) => move.to === 'SENDING').map((move) => move.act);
		expect(new Set(acts)).toEqual(new Set(['claim']));
	});

	test('never sends a second time what is SENT: only a proof leaves it, to BOUNCED', () => {
		const leaving = sendRecordMachine.moves.filter((move) => move.from === 'SENT');
		expect(leaving).toEqual([{ act: 'prove', from: 'SENT', to: 'BOUNCED' }]);
	});

	test('is finished, open, in a worker’s hands or held: each state is exactly one of these', () => {
		const sorted = [...OPEN_STATUSES, ...FINISHED_STATUSES, 'SENDING', 'HELD'].sort();
		expect(sorted).toEqual([...SEND_STATUSES].sort());
	});

	test('moves out of a finished state by nothing but a person or a proof', () => {
		const finished: readonly string[] = FINISHED_STATUSES;
		const acts = sendRecordMachine.moves.filter((move) => finished.includes(move.from)).map((move) => move.act);
		expect([...new Set(acts)].sort()).toEqual(['prove', 'retry']);
	});
});
