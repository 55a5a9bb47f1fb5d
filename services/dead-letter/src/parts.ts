import type { Broker } from '@tidings/broker';
import type { Db } from '@tidings/db';
import type { Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';

/** What the dead-letter service is made of. */
export type DeadLetterOptions = { readonly db: Db; readonly broker: Broker; readonly log: Logger; readonly metrics: Metrics };

/** The parts of the dead-letter service. Any number may run at once. */
export function deadLetterParts(_options: DeadLetterOptions): Part[] {
	return [];
}
