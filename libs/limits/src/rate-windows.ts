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

/** Room that was taken: so much of each window, by its key. Empty: the config has no window. */
export type Room = readonly { readonly key: string; readonly share: number }[];

/** Which window has too little room, and how long it is until the next one opens. */
export type Denial = {
	readonly window: 'min' | 'daily';
	readonly opensInMs: number;
	/** Nothing more goes through this window: it is full, or too much has been asked of what is left. */
	readonly shut: boolean;
};

/** What became of a request. */
export type WindowAnswer = { readonly room: Room } | { readonly denial: Denial };

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
	 * Takes room for each request, in their order: in both windows of its config, or in none, and then it says which one has too little. A smaller one behind it may still fit, until the window is shut:
	 * it is full, or a hundred have not fitted. One round trip. `name` names this one take and no other, ever: a repeated call with the same name counts once, for the answer to the first may have been lost.
	 * One take at a time. Rejects when nothing could be counted (away, slow, full, read-only), also when no request has a window: then nothing may be sent.
	 */
	take(name: string, requests: readonly WindowRequest[]): Promise<WindowAnswer[]>;
	/** Gives room back for which nothing was handed over to the provider. What belongs to a window that is over is over. Rejects as `take` does; to be tried once. */
	giveBack(rooms: readonly Room[]): Promise<void>;
	/** How the windows of a config stand; those that it does not have are left out. Rejects as `take` does. */
	read(config: Omit<WindowRequest, 'cost'>): Promise<WindowUse[]>;
};
