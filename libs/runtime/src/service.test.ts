import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';

type Line = { msg?: string; adminPort?: number; [field: string]: unknown };
type Child = {
	pid: number;
	lines: Line[];
	kill(signal: NodeJS.Signals): void;
	line(msg: string): Promise<Line>;
	exit: Promise<{ code: number | null; signal: string | null }>;
};

const alive: (() => void)[] = [];
afterEach(() => {
	for (const kill of alive.splice(0)) kill();
});

/** Runs a service in a process of its own. `body` makes `parts` and may use `part(name, over)`, `say(msg)` and `log`. */
function run(body: string, settings: { drainSeconds?: number; adminPort?: number } = {}): Child {
	const script = `
		import { createLogger, createMetrics } from '@tidings/telemetry';
		import { runService } from ${JSON.stringify(new URL('./service.ts', import.meta.url).href)};
		const log = createLogger({ service: 'demo', level: 'info' });
		const say = (msg) => log.info(msg);
		const hold = setInterval(() => {}, 1000);
		const part = (name, over = {}) => ({ name, start: async () => say('start ' + name), quiet: () => say('quiet ' + name), stop: async () => say('stop ' + name), ...over });
		let parts = [part('a'), part('b')];
		${body}
		const metrics = createMetrics({ service: 'demo', version: '1', processMetrics: false });
		await runService({ name: 'demo', log, metrics, parts, adminPort: ${settings.adminPort ?? 0}, adminHost: '127.0.0.1', drainSeconds: ${settings.drainSeconds ?? 10} });
		say('resolved');
	`;
	const child = spawn(process.execPath, ['--conditions=tidings-source', '--import', 'tsx', '--input-type=module', '-e', script], {
		cwd: fileURLToPath(new URL('.', import.meta.url)),
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	alive.push(() => child.kill('SIGKILL'));
	const lines: Line[] = [];
	const waiting = new Set<() => void>();
	createInterface({ input: child.stdout }).on('line', (text) => {
		lines.push(JSON.parse(text) as Line);
		for (const check of waiting) check();
	});
	const exit = once(child, 'close').then(([code, signal]) => {
		for (const check of waiting) check();
		return { code: code as number | null, signal: signal as string | null };
	});
	const line = (msg: string): Promise<Line> =>
		new Promise((resolve, reject) => {
			const check = (): void => {
				const found = lines.find((one) => one.msg === msg);
				if (found !== undefined) resolve(found);
				else if (child.exitCode !== null) reject(new Error(`ended without "${msg}": ${JSON.stringify(lines)}`));
				else waiting.add(check);
			};
			check();
		});
	return { pid: child.pid ?? 0, lines, kill: (signal) => void child.kill(signal), line, exit };
}

const said = (child: Child): (string | undefined)[] => child.lines.map((line) => line.msg);

test('a service says once that it is ready, serves its admin port, and SIGTERM drains it and exits 0', async () => {
	const child = run(
		`parts = [part('a'), part('b', { stop: async () => { say('stopping b'); await new Promise((r) => setTimeout(r, 50)); say('stop b'); } })];`,
	);
	const ready = await child.line('ready');
	expect(ready).toMatchObject({ level: 'info', service: 'demo', parts: ['admin', 'a', 'b'] });
	await child.line('resolved');
	const readyz = await fetch(`http://127.0.0.1:${ready.adminPort}/readyz`);
	expect([readyz.status, await readyz.json()]).toEqual([200, { status: 'ok', checks: {} }]);
	child.kill('SIGTERM');
	expect(await child.exit).toEqual({ code: 0, signal: null });
	expect(said(child)).toEqual([
		'start a',
		'start b',
		'ready',
		'resolved',
		'stopping',
		'quiet a',
		'quiet b',
		'stopping b',
		'stop b',
		'stop a',
		'stopped',
	]);
});

test('while it drains it lives, is not ready, and a second SIGTERM exits at once with 143', async () => {
	const child = run(`parts = [part('a', { stop: () => new Promise(() => {}) })];`, { drainSeconds: 600 });
	const { adminPort } = await child.line('ready');
	child.kill('SIGTERM');
	await child.line('quiet a');
	const readyz = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
	expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'draining', checks: {} }]);
	expect((await fetch(`http://127.0.0.1:${adminPort}/livez`)).status).toBe(200);
	child.kill('SIGTERM');
	expect(await child.exit).toEqual({ code: 143, signal: null });
});

test('the echo of one Ctrl-C is not a second one', async () => {
	const child = run(`parts = [part('a')]; process.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));`);
	await child.line('ready');
	child.kill('SIGINT');
	expect(await child.exit).toEqual({ code: 0, signal: null });
	expect(said(child)).toContain('stop a');
});

test('a second, later SIGINT exits at once with 130', async () => {
	const child = run(
		`parts = [part('a', { stop: async () => { await new Promise((r) => setTimeout(r, 150)); say('still stopping'); await new Promise(() => {}); } })];`,
		{ drainSeconds: 600 },
	);
	await child.line('ready');
	child.kill('SIGINT');
	await child.line('still stopping');
	child.kill('SIGINT');
	expect(await child.exit).toEqual({ code: 130, signal: null });
});

test('when the deadline passes it exits 1 and names what hung', async () => {
	const child = run(`parts = [part('a'), part('stuck', { stop: () => new Promise(() => {}) })];`, { drainSeconds: 0.05 });
	await child.line('ready');
	child.kill('SIGTERM');
	expect(await child.exit).toEqual({ code: 1, signal: null });
	expect(await child.line('did not stop in time')).toMatchObject({ level: 'error', hung: ['stuck', 'a', 'admin'] });
});

test('a failing start stops what started, says what to do and exits 1', async () => {
	const child = run(
		`parts = [part('a'), part('http', { start: async () => { throw Object.assign(new Error('listen'), { code: 'EADDRINUSE' }); } })];`,
	);
	expect(await child.exit).toEqual({ code: 1, signal: null });
	expect(said(child)).toEqual(['start a', 'quiet a', 'stop a', 'cannot start']);
	expect(await child.line('cannot start').catch(() => child.lines.at(-1))).toMatchObject({
		level: 'fatal',
		err: { message: expect.stringContaining('set another port') },
	});
});

test('a taken admin port is a failing start', async () => {
	const holder = createServer().listen(0, '127.0.0.1');
	await once(holder, 'listening');
	const { port } = holder.address() as { port: number };
	const child = run('', { adminPort: port });
	expect(await child.exit).toEqual({ code: 1, signal: null });
	expect(child.lines.at(-1)).toMatchObject({
		msg: 'cannot start',
		err: { message: expect.stringMatching(/^admin cannot start: .*EADDRINUSE/) },
	});
	holder.close();
});

test('SIGTERM during a start that hangs stops what started and exits 0, and it never claims to be ready', async () => {
	const child = run(`parts = [part('a'), part('slow', { start: () => { say('slow starts'); return new Promise(() => {}); } })];`);
	await child.line('slow starts');
	child.kill('SIGTERM');
	expect(await child.exit).toEqual({ code: 0, signal: null });
	expect(said(child)).toEqual(['start a', 'slow starts', 'stopping', 'quiet a', 'stop a', 'stopped']);
});

test.each([
	['exception', `setTimeout(() => { throw new Error('a bug'); });`],
	['rejection', `void Promise.reject(new Error('a bug'));`],
	['rejection that is no error', `void Promise.reject('a bug');`],
])('nobody handles the %s: it is fatal: a quick stop, then exit 1', async (_, bug) => {
	const child = run(`parts = [part('a', { start: async () => { process.once('SIGUSR2', () => { ${bug} }); } })];`);
	await child.line('resolved');
	child.kill('SIGUSR2');
	expect(await child.exit).toEqual({ code: 1, signal: null });
	expect(said(child).slice(2)).toEqual(['unexpected error, stopping', 'quiet a', 'stop a', 'stopped']);
	expect(child.lines[2]).toMatchObject({ level: 'fatal', err: { message: 'a bug' } });
});
