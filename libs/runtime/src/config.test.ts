import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Type } from 'typebox';
import { readConfig } from './read-config.js';
import { SETTINGS } from './settings.js';
import { settingsHelp, settingsTable } from './settings-help.js';

const URL_MARK = 'postgres://u:MARK@h/d';
const schema = Type.Object({ DATABASE_URL: SETTINGS.DATABASE_URL, TIDINGS_LEASE_SECONDS: SETTINGS.TIDINGS_LEASE_SECONDS });
const read = (argv: readonly string[], env: Record<string, string>) =>
	readConfig({ service: 'demo', about: 'shows settings.', schema }, argv, env);

test('the settings are read from the environment', () => {
	const settings = { DATABASE_URL: URL_MARK, TIDINGS_LEASE_SECONDS: 60 };
	expect(read([], { DATABASE_URL: URL_MARK, TIDINGS_LEASE_SECONDS: '60' })).toEqual({ kind: 'settings', settings });
});

test('--check-config ends well and prints no secret when all is right', () => {
	expect(read(['--check-config'], { DATABASE_URL: URL_MARK })).toEqual({
		kind: 'exit',
		code: 0,
		text: 'demo: the configuration is right\n',
	});
});

test.each([[['--check-config']], [[]]])('with %j faulty settings are all listed and the exit code is 78', (argv) => {
	const { code, text } = exitOf(read(argv, { DATABASE_URL: 'MARK', TIDINGS_LEASE_SECONDS: '0' }));
	expect(code).toBe(78);
	expect(text).toContain('  DATABASE_URL: must be postgres://');
	expect(text).toContain('  TIDINGS_LEASE_SECONDS: must be a whole number, at least 1, at most 86400, not "0"');
	expect(text).not.toContain('MARK');
});

test.each(['--chek-config', '--check-config=yes', 'start', '-x'])('%s is refused with 64', (flag) => {
	const { code, text } = exitOf(read([flag], { DATABASE_URL: URL_MARK }));
	expect(code).toBe(64);
	expect(text).toMatch(/^demo: .+\nTry --help\.\n$/s);
});

test('--help prints each setting with meaning, values and default, without any being set', () => {
	const { code, text } = exitOf(read(['--help'], {}));
	expect(code).toBe(0);
	expect(text).toContain('demo: shows settings.');
	expect(text).toContain('DATABASE_URL (required)\n');
	expect(text).toContain('TIDINGS_LEASE_SECONDS (default: 120 s)\n  How long a claimed record');
});

test('every shared setting is described, and stands in the help and in the table once', () => {
	const all = Type.Object(SETTINGS);
	const help = settingsHelp(all);
	const table = settingsTable('demo', all);
	for (const [name, setting] of Object.entries(SETTINGS)) {
		expect((setting as { description?: string }).description).toMatch(/\.$/);
		expect(help.split(`\n${name} (`)).toHaveLength(2);
		expect(table.split(`| \`${name}\` |`)).toHaveLength(2);
	}
	expect(table).toContain('| `TIDINGS_RETRY_TYPES` | {} | JSON |');
	for (const line of table.trim().split('\n').slice(2)) expect(line.match(/(?<!\\)\|/g)).toHaveLength(5);
});

test('a process with faulty settings ends with 78, its faults on stderr and nothing on stdout', async () => {
	const script = `
		import { loadConfig, SETTINGS } from '@tidings/runtime';
		import { Type } from 'typebox';
		loadConfig({ service: 'demo', about: 'shows settings.', schema: Type.Object({ DATABASE_URL: SETTINGS.DATABASE_URL }) });
		console.log('went on');
	`;
	const argv = ['--conditions=tidings-source', '--import', 'tsx', '--input-type=module', '-e', script];
	const ended = await new Promise((resolve) => {
		const options = { cwd: join(import.meta.dirname, '..'), env: { DATABASE_URL: '' } };
		execFile(process.execPath, argv, options, (error, stdout, stderr) => resolve({ code: error?.code, stdout, stderr }));
	});
	expect(ended).toEqual({ code: 78, stdout: '', stderr: expect.stringContaining('DATABASE_URL: is required') });
});

function exitOf(result: ReturnType<typeof read>): { code: number; text: string } {
	if (result.kind !== 'exit') throw new Error('the settings were taken');
	return result;
}
