import type { Db } from '@tidings/db';
import type { RateWindows } from '@tidings/limits';
import type { RetryPolicy, RetryTypes, Route } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';
import type { GateMemory } from './gate-memory.js';
import type { Persist } from './persist.js';
import type { Provider } from './provider.js';

/** What a delivery is made of. */
export type DeliveryOptions = {
	readonly db: Db;
	readonly provider: Provider;
	/** Asked before every claim; while it cannot answer nothing is sent. */
	readonly limits: Pick<RateWindows, 'take' | 'giveBack'>;
	readonly route: Route;
	/** Shown in attempts; unique per process, without a blank. */
	readonly worker: string;
	/** Sends at once through one provider config. */
	readonly slots: number;
	/** How long a claim holds, and how long one attempt may take: less than that. */
	readonly leaseSeconds: number;
	readonly deadlineSeconds: number;
	/** A closed gate is probed after so many seconds, and then ever more rarely. */
	readonly probeSeconds: number;
	/** A config all of whose slots are held for so many milliseconds hangs; default 10,000. */
	readonly hungMs?: number;
	/** Limits that a message has read so many milliseconds ago are read again before it asks for room; default 1,000. */
	readonly freshMs?: number;
	/** A message that failed in an unknown way comes back after this many milliseconds; default 30,000. */
	readonly nackMs?: number;
	/** The operator's policy for a message type. */
	readonly policyOf: (type: string) => RetryPolicy;
	/** What a tenant has of its own over that; absent: nothing. */
	readonly retryTypesOf?: (tenantId: string) => Promise<RetryTypes>;
	/** The broker's kind as traces show it. */
	readonly messagingSystem: string;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Told when the database or the rate windows are away (take nothing new) and when they are back. */
	readonly onAway: (away: boolean) => void;
};

/** What the acts of a delivery share. */
export type DeliveryContext = DeliveryOptions & {
	readonly persist: Persist;
	/** The same for the rate windows; it gives up at once when the sender stops. */
	readonly persistLimits: Persist;
	readonly gates: GateMemory;
	/** Whether the database or the rate windows are away now. */
	readonly isAway: () => boolean;
	/** Whether nothing new is taken any more. */
	readonly stopping: () => boolean;
	/** Aborted when the sender stops and what is not handed over is given back. */
	readonly cut: AbortSignal;
	/** Aborted after that, when no answer is waited for any more. */
	readonly last: AbortSignal;
};
