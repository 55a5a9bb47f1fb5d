import type { Logger } from '@tidings/telemetry';
import { isError } from './reason-of.js';

/** Ends the process because it cannot start: one fatal line with the reason. Exit code 1: whatever runs the service tries again; 78 (EX_CONFIG): only another configuration helps. */
export function cannotStart(log: Logger, code: 1 | 78 = 1): (error: unknown) => never {
	return (error) => {
		log.fatal({ err: isError(error) ? error : new Error(String(error)) }, 'cannot start');
		process.exit(code);
	};
}
