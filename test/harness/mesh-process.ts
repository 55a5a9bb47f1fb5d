import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithUs } from './end-with-us.js';
import { eventually } from './eventually.js';

/** The services that run by themselves. */
export type ServiceName = 'message-api' | 'outbox-publisher' | 'mail-sender' | 'dead-letter';

/** One line that a service wrote. What is no JSON, such as a crash report of Node, is `{ msg }` alone. */
export type LogLine = { readonly level?: string; readonly msg: string } & Readonly<Record<string, unknown>>;

/** How a process ended: an exit code, or the signal that ended it. */
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A service as a process of its own, started from the sources. It can be ended and started again; its lines go on. */
export type ServiceProcess = {
	readonly service: ServiceName;
	/** Of the process that runs now or ran last. */
	readonly pid: number;
	readonly running: boolean;
	/** Every line of all its lives, oldest first. */
	readonly lines: readonly LogLine[];
	/** Lines of this life with that message. */
	said(msg: string): readonly LogLine[];
	/** Where the API listens; null before it does. */
	api(): string | null;
	/** Resolves when it has started and every part is well (`/readyz`); rejects when it ends before. */
	ready(within?: number): Promise<void>;
	/** Resolves when it has started, well or not. */
	started(within?: number): Promise<void>;
	/** The answer of its admin port to a path such as `/metrics`. */
	admin(path: string): Promise<{ readonly status: number; readonly text: string }>;
	/** Sends a signal and goes on. */
	signal(signal: NodeJS.Signals): void;
	/** Resolves when the process has ended. */
	ended(): Promise<Exit>;
	/** Ends it at once, as kill -9 does. */
	kill(): Promise<Exit>;
	/** Asks it to stop and waits until it has. */
	term(): Promise<Exit>;
	/** Starts it again, once it has ended, with the same settings but for `change`. */
	restart(change?: Readonly<Record<string, string>>): void;
};

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = join(import.meta.dirname, 'failpoints-preload.mjs');
const START_MS = 90_000;

/** The sources as they are now, with their failpoints. */
let sources: string | undefined;

type Life = { readonly child: ChildProcess; readonly ended: Promise<Exit>; exit: Exit | null; readonly from: number };

/**
 * Starts a service with these settings, which are all that it gets beside PATH. It lives no longer than this process. By default it is the sources with their failpoints;
 * `built`: what `npm run build` made last, as in production.
 */
export function startService(
	service: ServiceName,
	settings: Readonly<Record<string, string>>,
	{ built = false }: { built?: boolean } = {},
): ServiceProcess {
	const lines: LogLine[] = [];
	const program = built ? [join(ROOT, 'services', service, 'dist/main.js')] : ['--import', PRELOAD, sourceOf(service)];
	let life = spawnService(program, settings, lines);
	const said = (msg: string) => lines.slice(life.from).filter((line) => line.msg === msg);
	const admin = async (path: string) => {
		const response = await fetch(`http://127.0.0.1:${said('ready').at(-1)?.['adminPort']}${path}`, { signal: AbortSignal.timeout(5_000) });
		return { status: response.status, text: await response.text() };
	};
	/** Waits for something that a living process does. */
	const until = async (what: string, within: number, probe: () => boolean | Promise<boolean>): Promise<void> => {
		const holds = await eventually(async () => (life.exit === null ? (await probe()) || null : { exit: life.exit }), { within, what });
		if (holds !== true) throw new Error(`${what}: it ended instead, ${JSON.stringify(holds.exit)}`);
	};
	const end = async (signal: NodeJS.Signals): Promise<Exit> => {
		life.child.kill(signal);
		return await life.ended;
	};
	return {
		service,
		get pid() {
			return life.child.pid ?? 0;
		},
		get running() {
			return life.exit === null;
		},
		lines,
		said,
		api: () => {
			const address = said('listening').at(-1)?.['address'];
			return typeof address === 'string' ? address : null;
		},
		admin,
		started: (within = START_MS) => until(`${service} to start`, within, () => said('ready').length > 0),
		ready: (within = START_MS) =>
			until(`${service} to be ready`, within, async () => said('ready').length > 0 && (await admin('/readyz')).status === 200),
		signal: (signal) => void life.child.kill(signal),
		ended: () => life.ended,
		kill: () => end('SIGKILL'),
		term: () => end('SIGTERM'),
		restart: (change = {}) => {
			if (life.exit === null) throw new Error(`${service} still runs`);
			life = spawnService(program, { ...settings, ...change }, lines);
		},
	};
}

function sourceOf(service: ServiceName): string {
	sources ??= execFileSync(process.execPath, [join(import.meta.dirname, 'failpoints-build.mjs')], { encoding: 'utf8' });
	return join(sources, 'services', service, 'src/main.js');
}

function spawnService(program: readonly string[], settings: Readonly<Record<string, string>>, lines: LogLine[]): Life {
	const child = spawn(process.execPath, program, {
		cwd: ROOT,
		env: { PATH: process.env['PATH'], ...settings },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	endWithUs(child);
	for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', (line) => lines.push(parseLine(line)));
	const ended = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
	const life: Life = { child, ended, exit: null, from: lines.length };
	void ended.then((exit) => {
		life.exit = exit;
	});
	return life;
}

function parseLine(line: string): LogLine {
	try {
		const parsed: unknown = JSON.parse(line);
		if (typeof parsed === 'object' && parsed !== null && 'msg' in parsed) return parsed as LogLine;
	} catch {
		// Not a line of the logger.
	}
	return { msg: line };
}
