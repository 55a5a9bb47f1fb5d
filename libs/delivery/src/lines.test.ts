import { expect, test } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { createLines, type Waiting } from './lines.js';

const message = (configId: string, recordId: string, lane: Waiting['lane'] = 'normal', tenantId = 't'): Waiting => ({
	configId,
	recordId,
	lane,
	tenantId,
	configVersion: 1,
});
const line = (configId: string, configVersion = 1) => ({ configId, configVersion });
const ids = (messages: readonly Waiting[]): string[] => messages.map((one) => one.recordId);

test('each config has its own slots; urgent goes first', () => {
	const lines = createLines<Waiting>(2);
	for (const one of [message('a', '1', 'bulk'), message('a', '2'), message('a', '3', 'urgent'), message('b', '4')]) lines.add(one);
	expect(ids(lines.take(10)).sort()).toEqual(['2', '3', '4']);
	expect([lines.waiting, lines.busy]).toEqual([1, 3]);
	expect(lines.take(10)).toEqual([]);
	lines.release(line('a'));
	expect(ids(lines.take(10))).toEqual(['1']);
});

test('F37 in one line the tenants take turns: who has one message waits for no long row of another', () => {
	const lines = createLines<Waiting>(10);
	for (const n of ['1', '2', '3', '4']) lines.add(message('a', n, 'normal', 'noisy'));
	lines.add(message('a', '5', 'normal', 'quiet'));
	lines.add(message('a', '6', 'bulk', 'other'));
	expect(ids(lines.take(3))).toEqual(['1', '5', '2']);
	lines.add(message('a', '7', 'normal', 'quiet'));
	expect(ids(lines.take(10))).toEqual(['3', '7', '4', '6']);
	expect([lines.waiting, lines.busy]).toEqual([0, 7]);
});

test('a line is drained without its slots', () => {
	const lines = createLines<Waiting>(1);
	for (const n of ['1', '2', '3']) lines.add(message('a', n));
	lines.add(message('b', '4'));
	expect(ids(lines.take(1))).toEqual(['1']);
	expect(ids(lines.drain('a'))).toEqual(['2', '3']);
	expect([lines.waiting, lines.busy, lines.drain('a'), lines.drain('c')]).toEqual([1, 1, [], []]);
	expect(ids(lines.clear())).toEqual(['4']);
});

test('F38 a config is stuck when all its slots are held, none came free, and something waits; it is told once for each such time', async () => {
	const lines = createLines<Waiting>(2);
	for (const n of ['1', '2', '3']) lines.add(message('a', n));
	lines.add(message('b', '4'));
	// As long as the provider has none of them, it is not the provider that lets us wait.
	lines.take(10);
	expect(lines.stuck(0)).toEqual([]);
	for (const configId of ['a', 'a', 'b']) lines.depart(line(configId));
	expect(lines.stuck(60_000)).toEqual([]);
	await eventually(() => lines.stuck(20)[0]?.configId === 'a', { what: 'the line to be stuck' });
	expect(lines.stuck(20)).toEqual([]);
	lines.drain('a');
	expect(lines.stuck(0)).toEqual([]);
	lines.add(message('a', '5'));
	expect(lines.stuck(0)).toEqual([line('a')]);
	expect(lines.land(line('a'))).toBe(true);
	expect(lines.stuck(0)).toEqual([]);
});

test('of very many lines none is forgotten: each turn begins behind those that were served last', () => {
	const lines = createLines<Waiting>(10);
	for (let round = 0; round < 3; round += 1) for (let n = 0; n < 30; n += 1) lines.add(message(`config ${n}`, `${n} ${round}`));
	const served = new Set<string>();
	for (let round = 0; round < 3; round += 1) for (const one of lines.take(10)) served.add(one.configId);
	expect(served.size).toBe(30);
});

test('a provider that takes fewer at once has as many slots; each success gives one back', () => {
	const lines = createLines<Waiting>(4);
	for (const n of ['1', '2', '3', '4', '5', '6', '7']) lines.add(message('a', n));
	lines.take(10);
	for (let n = 0; n < 4; n += 1) lines.depart(line('a'));
	expect(lines.narrow(line('a'))).toBe(true);
	for (let n = 0; n < 3; n += 1) lines.land(line('a'));
	// One is under way, and two more fit.
	expect(ids(lines.take(10))).toEqual(['5', '6']);
	expect(lines.narrow(line('a'))).toBe(false);
	lines.widen(line('a'));
	expect(lines.take(10)).toEqual([]);
	lines.widen(line('a'), 0);
	expect(ids(lines.take(10))).toEqual(['7']);
});

test('a config that was changed has a line of its own: what hangs at its old host takes none of its slots', () => {
	const lines = createLines<Waiting>(1);
	lines.add(message('a', '1'));
	lines.take(1);
	lines.depart(line('a'));
	lines.add({ ...message('a', '2'), configVersion: 2 });
	expect(ids(lines.take(1))).toEqual(['2']);
	lines.add(message('a', '3'));
	expect(ids(lines.drain('a'))).toEqual(['3']);
});
