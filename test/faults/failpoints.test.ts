import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { FAILPOINTS, makeFailpoints } from '../harness/failpoints.js';

const ROOT = join(import.meta.dirname, '../..');
const HARNESS = join(import.meta.dirname, '../harness');

/** The files of one kind in every room: `src` without tests, or `dist` where it was built. */
function filesOf(folder: 'src' | 'dist', ending: string): string[] {
	const walk = (path: string): string[] =>
		readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
			const inner = join(path, entry.name);
			return entry.isDirectory() ? walk(inner) : [inner];
		});
	const rooms = ['libs', 'services'].flatMap((kind) => readdirSync(join(ROOT, kind)).map((room) => join(ROOT, kind, room)));
	return rooms
		.filter((room) => readdirSync(room).includes(folder))
		.flatMap((room) => walk(join(room, folder)))
		.filter((file) => file.endsWith(ending) && !file.endsWith('.test.ts'));
}

test('each failpoint that tests can arm stands in the sources, and there is no other', () => {
	const lines = filesOf('src', '.ts').flatMap((file) => readFileSync(file, 'utf8').match(/^.*failpoint.*$/gm) ?? []);
	expect([...new Set(lines.map((line) => line.trim()))].sort()).toEqual(FAILPOINTS.map((name) => `// failpoint: ${name}`).sort());
});

test('nothing that is built calls a failpoint', () => {
	expect(filesOf('dist', '.js').filter((file) => readFileSync(file, 'utf8').includes('__failpoint'))).toEqual([]);
});

/** Runs code in a process of its own. */
function run(code: string, flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
	const options = { cwd: ROOT, env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' } as const;
	const { stdout, signal } = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', code], options);
	return { lines: stdout.trim().split('\n'), signal };
}

const has = (file: string) =>
	`const { sendClaimed } = await import(${JSON.stringify(file)}); console.log(/__failpoint\\(.claimed.\\)/.test(String(sendClaimed)));`;

test('a source has no failpoints when it is run as it is; the copy of it that fault tests start has them', () => {
	const plain = has(join(ROOT, 'libs/delivery/src/send-claimed.ts'));
	expect(run(plain, ['--conditions=tidings-source', '--import', 'tsx'])).toEqual({ lines: ['false'], signal: null });
	const copy = execFileSync(process.execPath, [join(HARNESS, 'failpoints-build.mjs')], { encoding: 'utf8' });
	expect(run(has(join(copy, 'libs/delivery/src/send-claimed.js')), [])).toEqual({ lines: ['true'], signal: null });
});

test('a failpoint does nothing until it is armed, then what it was told, and leaves word of each meeting', () => {
	const failpoints = makeFailpoints();
	const meetTwice = `for (const n of [1, 2]) await globalThis.__failpoint('claimed').then(() => console.log(n), (error) => console.log(error.message));`;
	const meet = () => run(meetTwice, ['--import', join(HARNESS, 'failpoints-preload.mjs')], { TIDINGS_FAILPOINTS: failpoints.folder });
	expect(meet()).toEqual({ lines: ['1', '2'], signal: null });
	expect(failpoints.met('claimed')).toBe(0);
	failpoints.arm('claimed', 'throw', { from: 2 });
	expect(meet()).toEqual({ lines: ['1', 'failpoint claimed'], signal: null });
	expect(failpoints.met('claimed')).toBe(2);
	failpoints.arm('claimed', 'crash');
	expect(meet()).toEqual({ lines: [''], signal: 'SIGKILL' });
	expect(failpoints.met('claimed')).toBe(1);
	failpoints.disarm('claimed');
	expect(meet()).toEqual({ lines: ['1', '2'], signal: null });
	failpoints.drop();
});
