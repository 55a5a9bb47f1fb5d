import { expect, test } from '@jest/globals';
import { eventually } from './eventually.js';

test('answers the first thing that holds', async () => {
	const answers = [null, undefined, false, 0];
	expect(await eventually(() => answers.shift())).toBe(0);
});

test('goes on while the probe throws', async () => {
	let calls = 0;
	const probe = () => {
		calls++;
		expect(calls).toBe(3);
		return true;
	};
	expect(await eventually(probe)).toBe(true);
});

test('says what it waited for and what it saw at last', async () => {
	await expect(eventually(() => null, { within: 20, what: 'a mail' })).rejects.toThrow(
		/Waited \d+ ms \(\d+ tries\) for a mail; at last it answered null/,
	);
	const broken = () => Promise.reject(new Error('no such table'));
	await expect(eventually(broken, { within: 0 })).rejects.toThrow(/\(1 tries\) for the condition; at last it threw no such table/);
});
