import { readTracingSettings } from './config.js';
import type { Logger } from './log.js';
import { setTracing } from './span.js';

/** What tracing needs to know. */
export type TracingOptions = {
	/** As in `services/<name>`: spans come from `tidings-<name>`, unless `OTEL_SERVICE_NAME` says otherwise. */
	readonly service: string;
	readonly version: string;
	readonly log: Logger;
	/** How long the whole service may take to stop: at most a fifth of it goes to the last spans. */
	readonly drainSeconds: number;
};

/** Sending the last spans takes no longer; a collector that is away must not hold up a stop. */
const FLUSH_MS = 3_000;

/**
 * Tracing as a part of a service: put it first, so that it stops last and the spans of the drain are still sent. It loads the OpenTelemetry SDK only when `OTEL_*` name an
 * exporter for traces; without one it does nothing. A collector that is away costs spans and a line in the log now and then, nothing else.
 */
export function tracingPart(options: TracingOptions): { readonly name: string; start(): Promise<void>; stop(): Promise<void> } {
	let shutDown: (() => Promise<void>) | null = null;
	return {
		name: 'tracing',
		start: async () => {
			const settings = readTracingSettings();
			if (!settings.exports) return;
			const { startSdk } = await import('./start-sdk.js');
			shutDown = startSdk({ ...options, logLevel: settings.logLevel });
			setTracing(true);
			options.log.info('traces are exported');
		},
		stop: async () => {
			if (shutDown === null) return;
			setTracing(false);
			const ms = Math.min(FLUSH_MS, (options.drainSeconds * 1_000) / 5);
			const flushed = await within(shutDown(), ms);
			if (!flushed) options.log.warn('the last spans were not sent');
		},
	};
}

/** Whether it ends well in time; what goes wrong later is nobody's concern. */
async function within(act: Promise<void>, ms: number): Promise<boolean> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<boolean>((resolve) => {
		timer = setTimeout(() => resolve(false), ms);
	});
	try {
		return await Promise.race([
			act.then(
				() => true,
				() => false,
			),
			late,
		]);
	} finally {
		clearTimeout(timer);
	}
}
