import type { ClaimedRecord } from '@tidings/db';
import type { Channel, Outcome, Refusal } from '@tidings/model';
import type { Span } from '@tidings/telemetry';

/**
 * Sends a prepared record. `handOver` is awaited just before the content is given to the provider: false means that nothing may be sent (`withheld`), a rejection
 * that it cannot be known now, so that nothing is sent either (`given-back`).
 * `cut` is aborted when the sender stops: what is not handed over to its last byte then ends at once as `given-back`; what is goes on until its answer.
 * `span` is the step of this call, which is told where it goes (`server.address`, `server.port`). Answers with an outcome and never throws for a "no".
 */
export type Send = (handOver: () => Promise<boolean>, cut: AbortSignal, span: Span) => Promise<Outcome>;

/** One channel's way to the outside. */
export type Provider = {
	readonly channel: Channel;
	/** The adapter kind as metrics and attempts show it. */
	readonly name: 'smtp';
	/** Reads what sending a claimed record to its open recipients needs beyond the claim. Throws what the database throws; it may be called again then. */
	prepare(record: ClaimedRecord): Promise<Send>;
	/**
	 * Whether the provider lets us in now: a connection and a log-in without a message. Null: yes. `stop` ends it early, and then the answer means nothing. Never rejects for a "no"; throws what
	 * the database throws.
	 */
	probe(configId: string, stop: AbortSignal): Promise<Refusal | null>;
};
