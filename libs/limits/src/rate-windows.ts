import type { Channel } from '@tidings/model';

/** What one message asks of the rate windows of its provider config. */
export type WindowRequest = {
	readonly channel: Channel;
	/** Whose config it is: a tenant's, or the platform. */
	readonly tenantId: string;
	readonly configId: string;
	/** Recipients; more than a limit counts as the whole limit. */
	readonly cost: number;
	/** Recipients a minute and a UTC day; null: no such window. */
	readonly perMinute: number | null;
	readonly perDay: number | null;
};

/** Which window is full, and how long it is until it opens. */
export type Denial = { readonly window: 'min' | 'daily'; readonly opensInMs: number };

/** How a window stands. */
export type WindowUse = {
	readonly window: 'min' | 'daily';
	readonly limit: number;
	readonly used: number;
	readonly left: number;
	readonly resetsAt: Date;
};

/** The rate windows of all provider configs, shared by all who send: a part of a service. */
export type RateWindows = {
	readonly name: string;
	start(): Promise<void>;
	stop(): Promise<void>;
	/** Rejects with a readable reason while nothing could be counted. */
	health(): Promise<void>;
	/**
	 * Takes room for each request, in their order: in both windows of its config, or in none, and then it says which one is full; what follows of the same config is denied as well.
	 * One round trip. Rejects when nothing could be counted (away, slow, full, read-only), also when no request has a window: then nothing may be sent.
	 */
	take(requests: readonly WindowRequest[]): Promise<(Denial | null)[]>;
	/** How the windows of a config stand; those that it does not have are left out. Rejects as `take` does. */
	read(config: Omit<WindowRequest, 'cost'>): Promise<WindowUse[]>;
};
