import { types } from 'node:util';
import { type DestinationStream, destination, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { maskLine } from './mask-line.js';
import { currentIds } from './span.js';

/** A logger of structured lines. Ids are fields; `msg` is a short fixed phrase. */
export type Logger = PinoLogger;

/** How much is logged, from most urgent to all; `silent` is nothing. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** No chain of causes is followed further than this. */
const DEEPEST_CAUSE = 5;

/**
 * Makes a service's logger: one JSON line per event with `time` (ISO 8601), `level` (text), `service` and `pid`.
 * Secrets and mail addresses are masked in every line; an error is logged by type, message, code, stack and causes only,
 * because drivers hang rows and recipients on their errors. Inside a step of a trace a line carries its `traceId` and `spanId`, unless it names its own.
 * `destination` takes whole lines; default: standard output, written at once so that no last line is lost.
 */
export function createLogger(options: { service: string; level: LogLevel; destination?: DestinationStream }): Logger {
	return pino(
		{
			level: options.level,
			base: { service: options.service, pid: process.pid },
			timestamp: stdTimeFunctions.isoTime,
			formatters: { level: (label) => ({ level: label }) },
			serializers: { err: describeError, error: describeError },
			mixin: currentIds,
			hooks: { streamWrite: maskLine },
		},
		options.destination ?? destination({ fd: 1, sync: true }),
	);
}

function describeError(error: unknown, depth = 1): unknown {
	if (!isError(error)) return error;
	const { code, cause } = error as Error & { code?: unknown };
	return {
		type: error.name,
		message: error.message,
		...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
		stack: error.stack,
		...(isError(cause) && depth < DEEPEST_CAUSE ? { cause: describeError(cause, depth + 1) } : {}),
	};
}

/** Also true for an error of another realm, such as a worker's or a test's. */
function isError(value: unknown): value is Error {
	return value instanceof Error || types.isNativeError(value);
}
