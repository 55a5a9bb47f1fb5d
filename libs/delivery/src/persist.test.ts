import { expect, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import { createPersist } from './persist.js';

const log = createLogger({ service: 'test', level: 'fatal' });
const away = Object.assign(new Error('gone'), { code: '57P01' });

function make(stopping = false): { persist: ReturnType<typeof createPersist>; told: boolean[] } {
	const told: boolean[] = [];
	return { told, persist: createPersist({ log, onAway: (is) => told.push(is), stopping: () => stopping }) };
}

/** An act that fails with these errors one after another and then answers. */
function failing(...errors: readonly Error[]): () => Promise<string> {
	const left = [...errors];
	return async () => {
		const error = left.shift();
		if (error !== undefined) throw error;
		return 'done';
	};
}

test('an act is repeated while the database is away, and taking is paused meanwhile', async () => {
	const { persist, told } = make();
	expect(await persist(failing(away, away))).toBe('done');
	expect(told).toEqual([true, false]);
});

test('taking goes on also when the repeated act ends with another error', async () => {
	const { persist, told } = make();
	await expect(persist(failing(away, new TypeError('a bug')))).rejects.toThrow('a bug');
	expect(told).toEqual([true, false]);
});

test('taking goes on only when the last of several waiting acts has ended', async () => {
	const { persist, told } = make();
	await Promise.all([persist(failing(away)), persist(failing(away, away, away))]);
	expect(told).toEqual([true, false]);
});

test('an error of the act itself is thrown at once', async () => {
	const { persist, told } = make();
	await expect(persist(failing(new TypeError('a bug')))).rejects.toThrow('a bug');
	expect(told).toEqual([]);
});

test('a stopping process gives up after a few rounds and does not begin to take again', async () => {
	const { persist, told } = make(true);
	await expect(persist(failing(...Array.from({ length: 20 }, () => away)))).rejects.toBe(away);
	expect(told).toEqual([true]);
}, 30_000);
