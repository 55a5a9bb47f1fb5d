import { expect, jest, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import { createPersist } from './persist.js';

const log = createLogger({ service: 'test', level: 'fatal' });
const away = Object.assign(new Error('gone'), { code: '57P01' });

function make(stopping = false) {
	const told: boolean[] = [];
	const last = new AbortController();
	return { told, last, persist: createPersist({ log, onAway: (is) => told.push(is), stopping: () => stopping, last: last.signal }) };
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

test('a stopping process waits for the database as long as there is time, and then gives up; it does not begin to take again', async () => {
	jest.useFakeTimers();
	try {
		const { persist, told, last } = make(true);
		const waited = persist(failing(...Array.from({ length: 20 }, () => away)));
		await jest.advanceTimersByTimeAsync(60_000);
		expect(await waited).toBe('done');
		const gaveUp = expect(persist(failing(...Array.from({ length: 20 }, () => away)))).rejects.toBe(away);
		last.abort();
		await jest.advanceTimersByTimeAsync(10_000);
		await gaveUp;
		expect(told).toEqual([true, true]);
	} finally {
		jest.useRealTimers();
	}
});
