import { monotonic } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import type { Part, RunningParts } from './part.js';
import { within } from './within.js';

/** How a stop went. `hung`: did not end in time, or were not reached because of it. `failed`: ended with an error. Both by name. */
export type StopReport = { readonly hung: readonly string[]; readonly failed: readonly string[] };

/** Becoming quiet is only a flag for most parts: one that hangs must not eat the time of the drain. */
const QUIET_MS = 2_000;

/** Quiets all parts, then stops them in reverse order, each finishing what it holds, until the deadline. Never rejects: what went wrong is logged and reported. */
export async function stopParts(running: RunningParts, options: { log: Logger; deadlineSeconds: number }): Promise<StopReport> {
	const { log } = options;
	const end = monotonic() + options.deadlineSeconds * 1000;
	const report = { hung: [] as string[], failed: [] as string[] };
	await Promise.all(running.started.map((part) => quietPart(part, Math.min(QUIET_MS, end - monotonic()), log)));
	for (const part of [...running.started].reverse()) {
		const outcome = report.hung.length > 0 ? 'hung' : await stopPart(part, end - monotonic(), log);
		if (outcome !== 'stopped') report[outcome].push(part.name);
	}
	if (report.hung.length > 0) log.error({ ...report, deadlineSeconds: options.deadlineSeconds }, 'did not stop in time');
	return report;
}

async function quietPart(part: Part, ms: number, log: Logger): Promise<void> {
	try {
		const quieting = await within(Promise.resolve(part.quiet?.()), ms);
		if (quieting.late) log.warn({ part: part.name }, 'part does not become quiet');
	} catch (error) {
		log.error({ part: part.name, err: error }, 'part failed to become quiet');
	}
}

async function stopPart(part: Part, ms: number, log: Logger): Promise<'stopped' | 'hung' | 'failed'> {
	try {
		const stopping = await within(part.stop(Math.max(0, ms)), ms);
		if (!stopping.late) log.debug({ part: part.name }, 'part stopped');
		return stopping.late ? 'hung' : 'stopped';
	} catch (error) {
		log.error({ part: part.name, err: error }, 'part failed to stop');
		return 'failed';
	}
}
