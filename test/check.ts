import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findEnvironmentReaders, findForeignClocks, findLongCode, findStatusWriters } from './check/source-rules.js';

// `npm run check`: everything that can be said about the sources without running them.

const root = join(import.meta.dirname, '..');

/** What a check found: nothing is good. `notes` are printed and fail nothing. */
type Finding = { faults: readonly string[]; notes?: readonly string[] };
type Check = { readonly name: string; run(): Promise<Finding> | Finding };

/** A check that is a command: it fails with the command's output when that does not exit with 0. */
function command(name: string, program: string, ...args: string[]): Check {
	const run = () =>
		new Promise<Finding>((resolve) => {
			const file = program === 'node' ? process.execPath : join(root, 'node_modules/.bin', program);
			const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', FORCE_COLOR: '0' };
			const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
			const output: string[] = [];
			for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
			child.once('error', (error) => resolve({ faults: [error.message] }));
			child.once('close', (code) => resolve({ faults: code === 0 ? [] : [output.join('').trim() || `exit code ${code}`] }));
		});
	return { name, run };
}

// Every other check reads what this one makes.
const GENERATE = command('generate', 'turbo', 'run', 'generate', '--output-logs=errors-only');

// The slow ones stand first, so that none of them is left alone at the end.
const CHECKS: readonly Check[] = [
	command('types', 'tsc', '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/tidings/types.tsbuildinfo'),
	command('unused code and dependencies', 'knip', '--no-progress', '--no-config-hints'),
	command('import fences', 'depcruise', '--config', '.dependency-cruiser.cjs', '--output-type', 'err', 'libs', 'services', 'test'),
	command('format and lint', 'biome', 'check', '--error-on-warnings', '--max-diagnostics=100'),
	command('generated docs', 'node', '--conditions=tidings-source', '--import', 'tsx', 'test/docs.ts', '--check'),
	{ name: 'one writer of status columns', run: () => ({ faults: findStatusWriters(root) }) },
	{ name: 'one reader of the environment', run: () => ({ faults: findEnvironmentReaders(root) }) },
	{ name: 'one clock', run: () => ({ faults: findForeignClocks(root) }) },
	{ name: 'length', run: () => ({ faults: [], notes: findLongCode(root) }) },
];

/** Runs the checks (all by default, else those named), prints a line for each with its reasons, and answers how many passed and which failed. */
export async function runChecks(names?: readonly string[]): Promise<{ passed: number; failed: string[] }> {
	const result = { passed: 0, failed: [] as string[] };
	const wanted = (check: Check) => names === undefined || names.includes(check.name);
	const runOne = async (check: Check) => {
		const { faults, notes = [] } = await check.run();
		if (faults.length === 0) result.passed++;
		else result.failed.push(check.name);
		const lines = [...faults, ...notes.map((note) => `note: ${note}`)].map((line) => `\n    ${line.replaceAll('\n', '\n    ')}`);
		process.stdout.write(`${faults.length === 0 ? 'ok    ' : 'failed'}  ${check.name}${lines.join('')}\n`);
	};
	if (wanted(GENERATE)) await runOne(GENERATE);
	const queue = CHECKS.filter(wanted);
	const lane = async () => {
		for (let check = queue.shift(); check !== undefined; check = queue.shift()) await runOne(check);
	};
	await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, lane));
	return result;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const names = process.argv.slice(2);
	const { passed, failed } = await runChecks(names.length > 0 ? names : undefined);
	process.stdout.write(`${passed} checks passed, ${failed.length} failed\n`);
	process.exitCode = failed.length > 0 ? 1 : 0;
}
