import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What standalone writes about itself. */
export type Facts = {
	readonly pid: number;
	readonly api: string;
	readonly openapi: string;
	readonly apiKey: string;
	readonly platformKey: string;
	readonly tenantId: string;
	readonly mail: { readonly smtp: string; readonly web: string; readonly api: string };
	readonly metrics: string;
};

/** A standalone process of its own. */
export type Standalone = {
	readonly facts: Facts;
	/** Everything it printed so far. */
	output(): string;
	/** Sends a signal and resolves with the exit code (null when the signal ended it). */
	stop(signal?: NodeJS.Signals): Promise<number | null>;
};

/** How a start ended that did not become ready. */
export type Refused = { readonly code: number | null; readonly output: string };

const ROOT = join(import.meta.dirname, '../..');

/** A data folder that the database's user can reach; removed by `drop`. */
export function makeDataDir(): { path: string; drop(): void } {
	const path = mkdtempSync(join(tmpdir(), 'tidings-standalone-'));
	chmodSync(path, 0o755);
	return { path, drop: () => rmSync(path, { recursive: true, force: true }) };
}

/** Starts standalone from the sources on a data folder, with free ports unless `args` say otherwise. Resolves when it is ready or has ended. */
export async function startStandalone(
	dataDir: string,
	options: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<Standalone | Refused> {
	const { args = [] } = options;
	const ports = ['--port', '--admin-port', '--smtp-port', '--mail-port']
		.filter((flag) => !args.includes(flag))
		.flatMap((flag) => [flag, '0']);
	const child = spawn(
		process.execPath,
		[
			'--conditions=tidings-source',
			'--import',
			'tsx',
			join(ROOT, 'services/standalone/src/main.ts'),
			'--data-dir',
			dataDir,
			...ports,
			...args,
		],
		{ cwd: ROOT, env: { ...process.env, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] },
	);
	const texts: string[] = [];
	const output = (): string => texts.join('');
	const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
	const ready = new Promise<void>((resolve) => {
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding('utf8').on('data', (text: string) => {
				texts.push(text);
				if (output().includes('Ctrl-C stops it.')) resolve();
			});
	});
	const code = await Promise.race([ready.then(() => 'ready' as const), ended]);
	if (code !== 'ready') return { code, output: output() };
	const facts: Facts = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8'));
	return { facts, output, stop: (signal = 'SIGTERM') => stopChild(child, ended, signal) };
}

async function stopChild(child: ChildProcess, ended: Promise<number | null>, signal: NodeJS.Signals): Promise<number | null> {
	child.kill(signal);
	return await ended;
}

/** The same, for tests in which a refusal is a failure. */
export async function startedStandalone(dataDir: string, options: Parameters<typeof startStandalone>[1] = {}): Promise<Standalone> {
	const started = await startStandalone(dataDir, options);
	if (!('facts' in started)) throw new Error(`standalone ended with ${started.code}: ${started.output}`);
	return started;
}

/** What answers hold, as far as tests read it. */
export type AnswerBody = {
	readonly id: string;
	readonly ids: readonly string[];
	readonly status: string;
	readonly code: string;
	readonly data: readonly { readonly id: string; readonly status: string; readonly event: string; readonly ambiguous: boolean }[];
	readonly nextCursor: string | null;
};

/** Calls the API with the first tenant's key; the answer with its body parsed. */
export async function call(
	facts: Facts,
	method: string,
	path: string,
	body?: unknown,
	headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; body: AnswerBody }> {
	const response = await fetch(new URL(path, facts.api), {
		method,
		headers: { authorization: `Bearer ${facts.apiKey}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
		...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
	});
	const text = await response.text();
	return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

/** Every mail in the catcher, newest first. */
export async function caughtMails(facts: Facts): Promise<{ id: string; messageId: string; subject: string; to: string[] }[]> {
	const mails = [];
	for (let cursor: string | null = ''; cursor !== null; ) {
		const response: Response = await fetch(
			`${facts.mail.api}/messages?limit=200${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
		);
		const page = (await response.json()) as {
			data: { id: string; messageId: string; subject: string; to: string[] }[];
			nextCursor: string | null;
		};
		mails.push(...page.data);
		cursor = page.nextCursor;
	}
	return mails;
}
