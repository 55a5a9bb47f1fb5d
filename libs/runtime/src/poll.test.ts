import { expect, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import { createPoll } from './poll.js';

const HOUR = 3_600_000;

/** An act that reports each run and waits until the test ends it. */
function scripted() {
	const waiting: ((end: 'well' | Error) => void)[] = [];
	const begun: (() => void)[] = [];
	let runs = 0;
	let now = 0;
	let most = 0;
	const act = async (): Promise<void> => {
		runs += 1;
		now += 1;
		most = Math.max(most, now);
		const ended = new Promise<'well' | Error>((resolve) => waiting.push(resolve));
		begun.shift()?.();
		const end = await ended;
		now -= 1;
		if (end !== 'well') throw end;
	};
	const run = (number: number): Promise<void> => (runs >= number ? Promise.resolve() : new Promise((resolve) => begun.push(resolve)));
	return { act, run, end: (how: 'well' | Error = 'well') => waiting.shift()?.(how), runs: () => runs, most: () => most };
}

function logged() {
	const lines: Record<string, unknown>[] = [];
	return { log: createLogger({ service: 'test', level: 'info', destination: { write: (line) => lines.push(JSON.parse(line)) } }), lines };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('the first run begins with start, the next after the interval', async () => {
	const script = scripted();
	const poll = createPoll({ name: 'p', intervalMs: 1, act: script.act, log: logged().log });
	await poll.start();
	await script.run(1);
	script.end();
	await script.run(2);
	script.end();
	await script.run(3);
	script.end();
	await poll.stop();
	expect(script.most()).toBe(1);
});

test('a wake-up starts a run at once', async () => {
	const script = scripted();
	const poll = createPoll({ name: 'p', intervalMs: HOUR, act: script.act, log: logged().log });
	await poll.start();
	script.end();
	await turn();
	poll.wake();
	await script.run(2);
	script.end();
	await poll.stop();
	expect(script.runs()).toBe(2);
});

test('wake-ups during a run become one further run, never a second at once', async () => {
	const script = scripted();
	const poll = createPoll({ name: 'p', intervalMs: HOUR, act: script.act, log: logged().log });
	await poll.start();
	for (let n = 0; n < 100; n += 1) poll.wake();
	script.end();
	await script.run(2);
	script.end();
	await turn();
	await turn();
	expect(script.runs()).toBe(2);
	await poll.stop();
	expect(script.most()).toBe(1);
});

test('stop awaits the run under way and tells it to end; nothing runs afterwards', async () => {
	const script = scripted();
	let told: AbortSignal | undefined;
	const act = (stopping: AbortSignal): Promise<void> => {
		told = stopping;
		return script.act();
	};
	const poll = createPoll({ name: 'p', intervalMs: HOUR, act, log: logged().log });
	await poll.start();
	let stopped = false;
	const stopping = poll.stop().then(() => {
		stopped = true;
	});
	await turn();
	expect(told?.aborted).toBe(true);
	expect(stopped).toBe(false);
	script.end();
	await stopping;
	poll.wake();
	await turn();
	expect(script.runs()).toBe(1);
});

test('a failing run is logged and repeated after a backoff that no wake-up cuts short, and its end is logged', async () => {
	const script = scripted();
	const { log, lines } = logged();
	const poll = createPoll({ name: 'p', intervalMs: HOUR, act: script.act, log, backoff: { first: 20, most: 40 } });
	await poll.start();
	script.end(new Error('database is away'));
	await turn();
	poll.wake();
	await turn();
	expect(script.runs()).toBe(1);
	await script.run(2);
	script.end(new Error('still away'));
	await script.run(3);
	script.end();
	await turn();
	await poll.stop();
	expect(lines.map((line) => [line.level, line.poll, line.failures])).toEqual([
		['warn', 'p', 1],
		['warn', 'p', 2],
		['info', 'p', 2],
	]);
	expect(lines[0]?.err).toMatchObject({ message: 'database is away' });
});

test('a failure that goes on for the same reasons is told once for each, and again after the poll has worked', async () => {
	const script = scripted();
	const { log, lines } = logged();
	const poll = createPoll({ name: 'p', intervalMs: 1, act: script.act, log, backoff: { first: 1, most: 1 } });
	await poll.start();
	const reasons = ['away', 'silent', 'away', 'away', 'silent'].map((reason) => new Error(reason));
	for (const [run, end] of [...reasons, 'well', new Error('away')].entries()) {
		await script.run(run + 1);
		script.end(end as 'well');
	}
	await script.run(8);
	script.end();
	await poll.stop();
	expect(lines.map((line) => [line.level, line.failures])).toEqual([
		['warn', 1],
		['warn', 2],
		['info', 5],
		['warn', 1],
		['info', 1],
	]);
});

test('stop ends a backoff at once, and a poll that never started stops too', async () => {
	const script = scripted();
	const { log } = logged();
	const poll = createPoll({ name: 'p', intervalMs: HOUR, act: script.act, log, backoff: { first: HOUR, most: HOUR } });
	await poll.start();
	script.end(new Error('no'));
	await turn();
	await poll.stop();
	expect(script.runs()).toBe(1);
	await createPoll({ name: 'q', intervalMs: 1, act: script.act, log }).stop();
});
