import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { eventually } from './eventually.js';
import { startService } from './mesh-process.js';

/** Running, stopped… as ps says; empty when it is gone or only waits to be reaped. */
const stateOf = (pid: string): string =>
	spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).stdout.trim().replace(/^Z.*/, '');

test('a child process ends with the process that started it, also when that one is killed with -9 and this one is paused', async () => {
	const code = `import { spawn } from 'node:child_process';
		import { endWithUs } from ${JSON.stringify(join(import.meta.dirname, 'end-with-us.ts'))};
		const start = () => { const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']); endWithUs(child); return child; };
		const [gone, paused, running] = [start(), start(), start()];
		gone.once('exit', () => { paused.kill('SIGSTOP'); console.log(paused.pid + ' ' + running.pid); });
		gone.kill();
		setInterval(() => undefined, 1000);`;
	const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	const [line] = await once(createInterface({ input: parent.stdout }), 'line');
	const pids = String(line).split(' ');
	await eventually(() => stateOf(pids[0] ?? '').startsWith('T'), { what: 'the pause' });
	expect(stateOf(pids[1] ?? '')).not.toBe('');
	parent.kill('SIGKILL');
	await eventually(() => pids.every((pid) => stateOf(pid) === ''), { what: 'both to be gone' });
});

test('a service that cannot start is not waited for, and what it said is kept', async () => {
	const service = startService('mail-sender', { DATABASE_URL: 'nonsense' });
	await expect(service.ready()).rejects.toThrow(/it ended instead, {"code":78/);
	expect(service.lines.map((line) => line.msg).join('\n')).toContain('DATABASE_URL');
});
