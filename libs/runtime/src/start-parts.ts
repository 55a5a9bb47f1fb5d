import type { Logger } from '@tidings/telemetry';
import type { Part, RunningParts } from './part.js';
import { isError, reasonOf } from './reason-of.js';
import { stopParts } from './stop-parts.js';

/** A part that could not start. The message names it and says what to do; `cause` is its own error. */
export class StartFailure extends Error {
	readonly part: string;

	constructor(part: string, cause: unknown) {
		super(`${part} cannot start: ${reasonOf(cause)}${hintFor(cause)}`, { cause });
		this.name = 'StartFailure';
		this.part = part;
	}
}

/**
 * Starts parts in order. When one fails, those that started are stopped in reverse (within `stopSeconds`, default 10) and a `StartFailure` is thrown.
 * When `signal` is aborted it returns early with what has started so far, without waiting for the part in between: the caller stops it and exits.
 */
export async function startParts(
	parts: readonly Part[],
	options: { log: Logger; signal?: AbortSignal; stopSeconds?: number },
): Promise<RunningParts> {
	const { log, signal } = options;
	const started: Part[] = [];
	for (const part of parts) {
		if (signal?.aborted === true) break;
		try {
			if ((await untilAborted(part.start(), signal)) === 'aborted') break;
		} catch (error) {
			await stopParts({ started }, { log, deadlineSeconds: options.stopSeconds ?? 10 });
			throw new StartFailure(part.name, error);
		}
		started.push(part);
		log.debug({ part: part.name }, 'part started');
	}
	return { started };
}

async function untilAborted(start: Promise<void>, signal: AbortSignal | undefined): Promise<'started' | 'aborted'> {
	if (signal === undefined) return start.then(() => 'started');
	let onAbort = (): void => {};
	const aborted = new Promise<'aborted'>((resolve) => {
		onAbort = () => resolve('aborted');
		if (signal.aborted) resolve('aborted');
		else signal.addEventListener('abort', onAbort, { once: true });
	});
	try {
		return await Promise.race([start.then(() => 'started' as const), aborted]);
	} finally {
		signal.removeEventListener('abort', onAbort);
	}
}

function hintFor(cause: unknown): string {
	switch (codeOf(cause)) {
		case 'EADDRINUSE':
			return '. The port is taken: stop the process that holds it, or set another port (0 is any free one)';
		case 'EACCES':
			return '. Not allowed: choose a port above 1023, or give this user the right';
		case 'ECONNREFUSED':
		case 'ECONNRESET':
		case 'ETIMEDOUT':
		case 'EHOSTUNREACH':
			return '. Check that the other side is running and that the URL names its host and port';
		case 'ENOTFOUND':
		case 'EAI_AGAIN':
			return '. Check the host name in the URL, and the DNS';
		default:
			return '';
	}
}

function codeOf(cause: unknown): unknown {
	if (!isError(cause)) return undefined;
	return (cause as Error & { code?: unknown }).code ?? codeOf(cause.cause);
}
