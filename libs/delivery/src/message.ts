import type { ConfigUse } from '@tidings/db';
import type { Envelope, Lane } from '@tidings/model';
import type { Span } from '@tidings/telemetry';

/** A message as it came from the broker, reduced to what delivering needs. It is settled once: by an ack, or by a nack. */
export type DeliveryMessage = {
	readonly lane: Lane;
	/** Where it came from: by these two it is archived once. */
	readonly topic: string;
	readonly messageId: string;
	readonly payload: Uint8Array;
	/** The step of its trace that handles it. Whoever consumes it ends it with the ack or the nack; one that is let go is ended here. */
	readonly span: Span;
	/** Called once the database knows everything about it. */
	ack(): void;
	/** Called when handling it failed in a way that nobody understands; it comes again after so many milliseconds. */
	nack(delayMs: number): void;
};

/** A message in hand whose envelope could be read. */
export type HeldMessage = DeliveryMessage &
	Envelope & {
		/** When it was taken, of the monotonic clock. */
		readonly receivedAt: number;
		/** Neither acked nor nacked: it stays with the broker, which hands it out again once this consumer is closed. */
		letGo(): void;
	};

/** A message that stands in the line of its provider config, and what it asks of it. */
export type LinedMessage = HeldMessage & ConfigUse;
