import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { runChecks } from './check.js';
import { startServers } from './harness/servers.js';

// `npm test`: every check and every test; `npm test -- PATTERN…`: only the tests in files whose path matches.
// The last line of standard output is the count; the exit code is 1 when anything failed.

type Count = { passed: number; failed: number };

/** First what is quick, several files at once; then the fault tests, which start many processes, one file at a time. */
const PASSES = [['--testPathIgnorePatterns=/test/faults/'], ['--roots=<rootDir>/test/faults', '--maxWorkers=1']];

/** How long Jest may take to end after its last test. */
const LINGER_MS = 30_000;

let running: ChildProcess | undefined;
let interrupted = false;

async function runPass(flags: readonly string[]): Promise<Count> {
	const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
	const reporters = ['--reporters=default', '--reporters=<rootDir>/test/harness/count-reporter.mjs'];
	const child = spawn(process.execPath, [...jest, ...flags, ...reporters, '--passWithNoTests'], {
		cwd: join(import.meta.dirname, '..'),
		// The channel brings the count; and it tells Jest when this process is gone, so that it ends as well.
		stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
	});
	running = child;
	let count: Count = { passed: 0, failed: 0 };
	let lingering: NodeJS.Timeout | undefined;
	let lingered = false;
	child.on('message', (message: Count) => {
		count = message;
		// A test that has failed may have left something at work; nothing depends on its end.
		lingering = setTimeout(() => {
			lingered = child.kill('SIGKILL');
		}, LINGER_MS);
	});
	const status = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)));
	clearTimeout(lingering);
	const code = lingered ? 0 : status;
	running = undefined;
	// Jest can also fail as a whole, such as when its set-up breaks.
	return code !== 0 && count.failed === 0 ? { ...count, failed: 1 } : count;
}

async function runTests(patterns: readonly string[]): Promise<Count> {
	for (const signal of ['SIGINT', 'SIGTERM'] as const)
		process.on(signal, () => {
			interrupted = true;
			running?.kill(signal);
		});
	const servers = await startServers({ eager: patterns.length === 0 });
	let all: Count = { passed: 0, failed: 0 };
	for (const flags of PASSES) {
		if (interrupted) break;
		const { passed, failed } = await runPass([...patterns, ...flags]);
		all = { passed: all.passed + passed, failed: all.failed + failed };
	}
	await servers.stop();
	// Nothing matched, or it was stopped half way.
	return interrupted || all.passed + all.failed === 0 ? { ...all, failed: all.failed + 1 } : all;
}

const patterns = process.argv.slice(2);
const checks = await runChecks(patterns.length > 0 ? ['generate'] : undefined);
const tests = await runTests(patterns);
const failed = checks.failed.length + tests.failed;
// The reasons stand far above by now.
if (checks.failed.length > 0) process.stdout.write(`failed checks: ${checks.failed.join(', ')}\n`);
process.stdout.write(`${checks.passed + tests.passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
