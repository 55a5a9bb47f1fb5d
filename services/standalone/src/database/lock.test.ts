import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lockDataDir } from './lock.js';

let dataDir = '';
let children: ChildProcess[] = [];

beforeEach(() => {
	dataDir = mkdtempSync(join(tmpdir(), 'tidings-lock-'));
});

afterEach(() => {
	for (const child of children) child.kill('SIGKILL');
	children = [];
	rmSync(dataDir, { recursive: true, force: true });
});

/** Starts a process that tries to lock the folder, and answers with it and with its first line: `held` or the refusal. */
async function contend(): Promise<{ line: string; kill(): Promise<void> }> {
	const script = `
		import { lockDataDir } from ${JSON.stringify(fileURLToPath(new URL('./lock.ts', import.meta.url)))};
		try { lockDataDir(${JSON.stringify(dataDir)}); console.log('held'); } catch (error) { console.log(error.message); }
		process.stdin.resume();`;
	const tsx = createRequire(import.meta.url).resolve('tsx');
	const child = spawn(process.execPath, ['--conditions=tidings-source', '--import', tsx, '--input-type=module', '-e', script], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	children.push(child);
	const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
	return {
		line,
		async kill() {
			const ended = once(child, 'exit');
			child.kill('SIGKILL');
			await ended;
		},
	};
}

test('of several that start at once on a folder with a dead holder one gets it, and the others name its pid', async () => {
	const dead = await contend();
	expect(dead.line).toBe('held');
	await dead.kill();

	const all = await Promise.all([contend(), contend(), contend()]);
	const lines = all.map((one) => one.line);
	expect(lines.filter((line) => line === 'held')).toHaveLength(1);
	expect(lines.filter((line) => /already running \(pid \d+\).*--data-dir/.test(line))).toHaveLength(2);
	await Promise.all(all.map((one) => one.kill()));

	lockDataDir(dataDir).release();
	expect(readdirSync(dataDir)).toEqual([]);
});

test('a second start is refused until the first releases', () => {
	const lock = lockDataDir(join(dataDir, 'made', 'here'));
	expect(() => lockDataDir(join(dataDir, 'made', 'here'))).toThrow(`already running (pid ${process.pid})`);
	lock.release();
	lockDataDir(join(dataDir, 'made', 'here')).release();
});

test('a pid that another process was given since does not hold the folder, nor does a torn lock file', () => {
	writeFileSync(join(dataDir, 'lock.4'), JSON.stringify({ pid: process.pid, mark: 'of an earlier process' }));
	lockDataDir(dataDir).release();
	writeFileSync(join(dataDir, 'lock.9'), '{"pid":');
	lockDataDir(dataDir).release();
});

test('a data folder that is a file is explained', () => {
	const file = join(dataDir, 'file');
	writeFileSync(file, '');
	expect(() => lockDataDir(file)).toThrow(
		`The data folder ${file} cannot be used: it is a file, or lies under one. Choose another folder with --data-dir.`,
	);
	expect(() => lockDataDir(join(file, 'under'))).toThrow('it is a file, or lies under one');
});

test('a place where nothing can be made is refused, not tried for ever', () => {
	expect(() => lockDataDir('/proc/tidings/data')).toThrow('cannot be used: nothing can be made there');
});

test('a folder with somebody else’s files is refused, and nothing is written beside them', () => {
	writeFileSync(join(dataDir, 'thesis.txt'), 'years of work');
	expect(() => lockDataDir(dataDir)).toThrow('it holds other files');
	expect(readdirSync(dataDir)).toEqual(['thesis.txt']);
});
