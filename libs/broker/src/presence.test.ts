import { expect, test } from '@jest/globals';
import { monotonic } from '@tidings/model';
import { eventually } from './contract-kit.js';
import { Presence } from './presence.js';

test('a broker that answers and yet is of no use is asked later each time', async () => {
	const presence = new Presence({ probe: async () => undefined, look: () => 'none', report: () => undefined });
	await presence.check();
	const began = monotonic();
	let back = 0;
	presence.on('back', () => {
		back++;
		presence.lost('the token is not accepted');
	});
	presence.lost('the token is not accepted');
	await eventually('five times back', () => back === 5);
	// 100, 200, 400, 800 and 1,600 ms, each by half less at most.
	expect(monotonic() - began).toBeGreaterThanOrEqual(1_550);
	presence.close();
});

test('each reason why the broker is away is told once, whatever came between', async () => {
	const told: string[] = [];
	let failure = 'ECONNREFUSED';
	let asked = 0;
	const probe = async (): Promise<void> => {
		asked++;
		throw new Error(failure);
	};
	const presence = new Presence({ probe, look: () => 'none', report: (error) => void told.push(String(error)) });
	await eventually('two attempts', () => asked === 2);
	failure = 'the token is not accepted';
	await eventually('an attempt with the token', () => told.length === 2);
	failure = 'ECONNREFUSED';
	const before = asked;
	await eventually('another two attempts', () => asked === before + 2);
	expect(told).toEqual(['Error: ECONNREFUSED', 'Error: the token is not accepted']);
	presence.close();
});

test('what was asked before the broker was found says nothing about it', async () => {
	const before = monotonic();
	const presence = new Presence({ probe: async () => undefined, look: () => 'none', report: () => undefined });
	await presence.check();
	presence.lost('no answer', before);
	expect(presence.connected()).toBe(true);
	presence.lost('no answer');
	expect(presence.away()).toBe('no answer');
	presence.close();
});
