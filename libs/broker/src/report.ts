import type { BrokerLog } from './broker.js';

/** Tells of an error that can be handed to nobody. A warning is what heals by itself. */
export type Report = (error: unknown, text: string, level?: 'warn' | 'error') => void;

/** Reports to the log; without one, as a process warning. */
export function reportTo(log: BrokerLog | undefined): Report {
	return (error, text, level = 'error') => {
		if (log === undefined) process.emitWarning(error instanceof Error ? error : String(error));
		else if (level === 'warn' && log.warn !== undefined) log.warn({ err: error }, text);
		else log.error({ err: error }, text);
	};
}
