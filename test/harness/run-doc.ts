import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fitsText, mismatchesOfJson } from './match-shown.js';
import type { DocBlock, ShownAnswer } from './read-doc.js';

/** Where the blocks run: a folder that is theirs, and what stands before them. */
export type DocPlace = { readonly cwd: string; readonly blocks: readonly DocBlock[]; readonly env?: Readonly<Record<string, string>> };

/** The answer that a request of a block got. */
type Call = { readonly status: string; readonly headers: ReadonlyMap<string, string>; readonly body: string };

/** How long all blocks of a page may take: a loop that waits for what never comes is ended, and named. */
const LONGEST_MS = 60_000;

/** Runs blocks one after the other in one bash, as a reader who pastes them, and answers what is not as the page says: one sentence each, with the line. */
export async function runDoc({ cwd, blocks, env = {} }: DocPlace): Promise<string[]> {
	const log = join(cwd, 'log');
	for (const index of blocks.keys()) mkdirSync(join(log, String(index)), { recursive: true });
	writeFileSync(join(cwd, 'script'), scriptOf(blocks));
	const code = await runBash(cwd, { ...env, DOC_LOG: log });
	const reached = Number(readText(join(log, 'reached')));
	const faults = blocks.slice(0, code === 0 ? blocks.length : reached).flatMap((block, index) => faultsOf(block, join(log, String(index))));
	if (code === 0) return faults;
	return [...faults, `line ${blocks[reached]?.line}: the command failed (${code}): ${readText(join(log, String(reached), 'err'))}`];
}

/** Each request of curl leaves its head and its body beside the others of its block, in their order. */
const RECORDER = `set -euo pipefail
curl() {
	local call="$DOC_LOG/$block/$(ls "$DOC_LOG/$block" | wc -l)"
	command curl --dump-header "$call.head" "$@" | tee "$call.body"
}
`;

function scriptOf(blocks: readonly DocBlock[]): string {
	const run = ({ script }: DocBlock, index: number): string =>
		`block=${index}\necho ${index} >"$DOC_LOG/reached"\n{\n${script}\n} >"$DOC_LOG/${index}/out" 2>"$DOC_LOG/${index}/err"\n`;
	return `${RECORDER}${blocks.map(run).join('')}`;
}

async function runBash(cwd: string, env: Readonly<Record<string, string>>): Promise<number | null> {
	const child = spawn('bash', ['script'], { cwd, env: { ...process.env, ...env }, stdio: 'ignore', timeout: LONGEST_MS });
	return await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
}

function faultsOf({ line, answer, output }: DocBlock, folder: string): string[] {
	const calls = callsIn(folder);
	const last = calls.at(-1);
	const printed = readText(join(folder, 'out'));
	const faults = [];
	if (output !== null && !fitsText(output.trim(), printed.trim())) faults.push(`it printed ${JSON.stringify(printed)}`);
	// What a loop of requests met is proven by what it printed.
	const unshown = output !== null ? [] : answer === null ? calls : calls.slice(0, -1);
	faults.push(
		...unshown.filter((call) => !call.status.startsWith('2')).map((call) => `a request was answered ${call.status}: ${call.body}`),
	);
	if (answer !== null) faults.push(...(last === undefined ? ['it made no request'] : faultsOfAnswer(answer, last)));
	return faults.map((fault) => `line ${line}: ${fault}`);
}

function faultsOfAnswer(shown: ShownAnswer, call: Call): string[] {
	if (shown.status !== call.status) return [`the answer is ${call.status}, not ${shown.status}: ${call.body}`];
	const headers = shown.headers
		.filter(({ name, value }) => !fitsText(value, call.headers.get(name) ?? ''))
		.map(({ name, value }) => `${name} is ${call.headers.get(name)}, not ${value}`);
	if (shown.body === '') return headers;
	return [...headers, ...mismatchesOfJson(shown.body, JSON.parse(call.body)).map((fault) => `${fault} in ${call.body}`)];
}

function callsIn(folder: string): Call[] {
	const heads = readdirSync(folder).filter((name) => name.endsWith('.head'));
	return heads.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).map((head) => readCall(join(folder, head)));
}

function readCall(file: string): Call {
	const [first = '', ...rest] = readText(file).trim().split('\r\n');
	const headers = rest.map((one): [string, string] => [
		one.slice(0, one.indexOf(':')).toLowerCase(),
		one.slice(one.indexOf(':') + 1).trim(),
	]);
	const printed = readText(file.replace(/head$/, 'body'));
	// With `-i` the head is printed too.
	const body = printed.startsWith('HTTP/') ? printed.slice(printed.indexOf('\r\n\r\n') + 4) : printed;
	return { status: first.replace(/^HTTP\/\S+ /, ''), headers: new Map(headers), body };
}

function readText(file: string): string {
	return readFileSync(file, 'utf8');
}
