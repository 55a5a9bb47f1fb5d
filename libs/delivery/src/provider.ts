import type { ClaimedRecord } from '@tidings/db';
import type { Channel, Outcome } from '@tidings/model';

/** One channel's way to the outside. A provider answers with an outcome; it never throws for a "no". */
export type Provider = {
	readonly channel: Channel;
	/** The adapter kind as metrics and attempts show it. */
	readonly name: 'smtp';
	/**
	 * Tries to send to the recipients of `record` that are open.
	 * `handOver` is awaited just before the content is given to the provider: false means that nothing may be sent (`withheld`).
	 */
	send(record: ClaimedRecord, handOver: () => Promise<boolean>): Promise<Outcome>;
};
