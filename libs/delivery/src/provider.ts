import type { ClaimedRecord } from '@tidings/db';
import type { Channel, Outcome } from '@tidings/model';

/**
 * Sends a prepared record. `handOver` is awaited just before the content is given to the provider: false means that nothing may be sent (`withheld`).
 * Answers with an outcome and never throws for a "no".
 */
export type Send = (handOver: () => Promise<boolean>) => Promise<Outcome>;

/** One channel's way to the outside. */
export type Provider = {
	readonly channel: Channel;
	/** The adapter kind as metrics and attempts show it. */
	readonly name: 'smtp';
	/** Reads what sending a claimed record to its open recipients needs beyond the claim. Throws what the database throws; it may be called again then. */
	prepare(record: ClaimedRecord): Promise<Send>;
};
