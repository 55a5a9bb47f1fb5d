import type { ClaimedRecord, Settlement } from '@tidings/db';
import type { Refusal } from '@tidings/model';
import type { Span } from '@tidings/telemetry';
import type { GateVerdict } from './gate-verdict.js';
import type { ConfigRoom } from './give-room-back.js';
import type { HeldMessage } from './message.js';

/** One attempt that ended, with all that is needed to write it down, and the step of its trace that does so. */
export type Ended = {
	readonly record: ClaimedRecord;
	readonly message: HeldMessage;
	readonly settlement: Settlement;
	readonly settling: Span;
	/** What it says about its config's gate, and the provider's words when they are about the provider. */
	readonly verdict: GateVerdict;
	readonly refusal: Refusal | null;
	/** Room in its rate windows that it did not use; empty: it used what it had. */
	readonly unused: ConfigRoom;
	/** Called once its gate knows of it, before it is settled. */
	readonly onJudged?: () => void;
};
