import { monotonic } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';
import { cannotStart } from './cannot-start.js';
import { createAdminServer } from './health.js';
import type { Part, Phase } from './part.js';
import { isError } from './reason-of.js';
import { startParts } from './start-parts.js';
import { onStopCause, type StopCause } from './stop-causes.js';
import { stopParts } from './stop-parts.js';

/** What a service is made of. */
export type ServiceOptions = {
	readonly name: string;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** In the order in which they start. */
	readonly parts: readonly Part[];
	/** Port of `/livez`, `/readyz` and `/metrics`; 0 is any free one. */
	readonly adminPort: number;
	/** Address to listen on; default: all. */
	readonly adminHost?: string;
	/** How long the parts may take to finish what they hold. */
	readonly drainSeconds: number;
};

/** After an error that nobody handled the process cannot be trusted: leases and redelivery give back what is held. */
const QUICK_STOP_SECONDS = 5;

/**
 * Runs a service until the process ends. Resolves when it is ready. It owns the process: a failing start exits 1 and says what to do;
 * SIGTERM, SIGINT or SIGHUP drain and exit 0, or 1 when the deadline passes (the log names what hung); a second signal exits at once;
 * an error that nobody handled is logged as fatal and exits 1 after a quick stop.
 */
export async function runService(options: ServiceOptions): Promise<{ adminPort: number }> {
	const { log, drainSeconds } = options;
	const begun = monotonic();
	const abort = new AbortController();
	let phase: Phase = 'starting';
	const admin = createAdminServer({
		parts: options.parts,
		metrics: options.metrics,
		port: options.adminPort,
		...(options.adminHost === undefined ? {} : { host: options.adminHost }),
		phase: () => phase,
	});
	const starting = startParts([admin, ...options.parts], { log, signal: abort.signal, stopSeconds: drainSeconds });

	const stop = async (cause: StopCause): Promise<void> => {
		phase = 'draining';
		abort.abort();
		if (cause.kind === 'signal') log.info({ signal: cause.signal, drainSeconds }, 'stopping');
		else log.fatal({ err: asError(cause.error) }, 'unexpected error, stopping');
		const deadlineSeconds = cause.kind === 'signal' ? drainSeconds : Math.min(QUICK_STOP_SECONDS, drainSeconds);
		const report = await stopParts(await starting, { log, deadlineSeconds });
		if (report.hung.length === 0) log.info({ failed: report.failed }, 'stopped');
		process.exit(cause.kind === 'error' || report.hung.length > 0 || report.failed.length > 0 ? 1 : 0);
	};
	const giveUp = cannotStart(log);
	onStopCause(
		(cause) => void stop(cause).catch(giveUp),
		(error) => log.fatal({ err: asError(error) }, 'another unexpected error while stopping'),
	);

	const running = await starting.catch(giveUp);
	// A stop that came first has the word from here on: the caller must not believe that it is ready.
	if (abort.signal.aborted) return new Promise(() => {});
	phase = 'ready';
	const adminPort = admin.port();
	log.info({ adminPort, parts: running.started.map((part) => part.name), startMs: Math.round(monotonic() - begun) }, 'ready');
	return { adminPort };
}

function asError(value: unknown): Error {
	return isError(value) ? value : new Error(String(value));
}
