import type { Envelope, Lane } from '@tidings/model';

/** A message from the broker, reduced to what delivering needs. */
export type DeliveryMessage = Envelope & {
	readonly lane: Lane;
	/** Call once the database knows everything about it. */
	ack(): void;
	/** Call when handling it failed in a way that nobody understands. */
	nack(delayMs: number): void;
	/** Call when it names a record that does not exist. */
	poison(reason: string): void;
};
