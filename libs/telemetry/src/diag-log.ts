import { type DiagLogger, DiagLogLevel } from '@opentelemetry/api';
import { monotonic } from '@tidings/model';
import type { Logger } from './log.js';

/** While spans cannot be exported, one line in this time says so. */
const QUIET_MS = 60_000;

/** The text of one complaint at most: exporters put whole stacks into theirs. */
const LONGEST = 300;

/** What OpenTelemetry says about itself, as lines of ours: complaints as warnings, one a minute at most with the count of those left out; the rest at `debug`. */
export function createDiagLog(log: Logger): DiagLogger {
	let quietUntil = Number.NEGATIVE_INFINITY;
	let leftOut = 0;
	const complain = (message: string): void => {
		if (monotonic() < quietUntil) {
			leftOut += 1;
			return;
		}
		log.warn({ reason: reasonIn(message), leftOut }, 'traces are not exported as they should be; everything else goes on');
		quietUntil = monotonic() + QUIET_MS;
		leftOut = 0;
	};
	const tell = (message: string): void => log.debug({ text: message.slice(0, LONGEST) }, 'opentelemetry');
	return { error: complain, warn: complain, info: tell, debug: tell, verbose: tell };
}

/** The level of `OTEL_LOG_LEVEL`; default: warnings. */
export function diagLevelOf(name: string | null): DiagLogLevel {
	const levels: Readonly<Record<string, DiagLogLevel>> = {
		none: DiagLogLevel.NONE,
		error: DiagLogLevel.ERROR,
		warn: DiagLogLevel.WARN,
		info: DiagLogLevel.INFO,
		debug: DiagLogLevel.DEBUG,
		verbose: DiagLogLevel.VERBOSE,
		all: DiagLogLevel.ALL,
	};
	return levels[name ?? 'warn'] ?? DiagLogLevel.WARN;
}

/** An exporter's error comes as JSON of all its fields. */
function reasonIn(message: string): string {
	try {
		const { message: text, code, name } = JSON.parse(message) as Record<string, unknown>;
		return (
			[text, code, name]
				.find((one) => typeof one === 'string' && one !== '')
				?.toString()
				.slice(0, LONGEST) ?? 'unknown'
		);
	} catch {
		return message.slice(0, LONGEST);
	}
}
