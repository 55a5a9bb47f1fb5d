import { expect, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import type { Part } from './part.js';
import { StartFailure, startParts } from './start-parts.js';
import { stopParts } from './stop-parts.js';

const log = createLogger({ service: 'test', level: 'silent' });

function recorder() {
	const events: string[] = [];
	const part = (name: string, over: Partial<Part> = {}): Part => ({
		name,
		start: async () => void events.push(`start ${name}`),
		quiet: () => void events.push(`quiet ${name}`),
		stop: async () => void events.push(`stop ${name}`),
		...over,
	});
	return { events, part };
}

test('parts start in order; all become quiet before any stops, in reverse', async () => {
	const { events, part } = recorder();
	const running = await startParts([part('a'), part('b'), part('c')], { log });
	expect(await stopParts(running, { log, deadlineSeconds: 5 })).toEqual({ hung: [], failed: [] });
	expect(events).toEqual(['start a', 'start b', 'start c', 'quiet a', 'quiet b', 'quiet c', 'stop c', 'stop b', 'stop a']);
});

test('a failing start stops those that started, in reverse, and says which part and what to do', async () => {
	const { events, part } = recorder();
	const cause = Object.assign(new Error('listen EADDRINUSE: 0.0.0.0:7070'), { code: 'EADDRINUSE' });
	const failing = part('http', { start: () => Promise.reject(cause) });
	const failure = await startParts([part('a'), part('b'), failing, part('d')], { log }).catch((error: unknown) => error);
	expect(failure).toBeInstanceOf(StartFailure);
	expect(failure).toMatchObject({
		part: 'http',
		cause,
		message: expect.stringMatching(/^http cannot start: listen EADDRINUSE.*set another port/),
	});
	expect(events).toEqual(['start a', 'start b', 'quiet a', 'quiet b', 'stop b', 'stop a']);
});

test('a refused connection is explained, also when its error has no message of its own', async () => {
	const { part } = recorder();
	const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
	const both = Object.assign(new AggregateError([refused], ''), { code: 'ECONNREFUSED' });
	await expect(startParts([part('postgres', { start: () => Promise.reject(both) })], { log })).rejects.toThrow(
		/^postgres cannot start: connect ECONNREFUSED 127.0.0.1:5432. Check that the other side is running/,
	);
});

test('an abort ends the start early with what has started', async () => {
	const { events, part } = recorder();
	const abort = new AbortController();
	const hanging = part('hangs', {
		start: () => {
			abort.abort();
			return new Promise(() => {});
		},
	});
	const running = await startParts([part('a'), hanging, part('c')], { log, signal: abort.signal });
	expect(running.started.map((one) => one.name)).toEqual(['a']);
	expect(events).toEqual(['start a']);
});

test('a part that hangs past the deadline is named, with those that were not reached', async () => {
	const { part, events } = recorder();
	const running = await startParts([part('a'), part('b'), part('stuck', { stop: () => new Promise(() => {}) }), part('d')], { log });
	expect(await stopParts(running, { log, deadlineSeconds: 0.02 })).toEqual({ hung: ['stuck', 'b', 'a'], failed: [] });
	expect(events).toContain('stop d');
});

test('a part that fails to become quiet or to stop is reported and the others still stop', async () => {
	const { part, events } = recorder();
	const refuses = (): never => {
		throw new Error('no');
	};
	const running = await startParts([part('a'), part('bad', { quiet: refuses, stop: async () => refuses() })], { log });
	expect(await stopParts(running, { log, deadlineSeconds: 5 })).toEqual({ hung: [], failed: ['bad'] });
	expect(events).toEqual(['start a', 'start bad', 'quiet a', 'stop a']);
});
