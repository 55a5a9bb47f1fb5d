import { Redis } from 'ioredis';

/** A connection to Redis that comes and goes: commands fail at once while it is not there, and it is tried again without end. */
export type RedisConnection = {
	readonly client: Redis;
	/** Resolves when it stands, or the first try has failed. */
	connect(): Promise<void>;
	disconnect(): void;
	/** Why it was lost, or could not be made, last; null when nothing was wrong yet. */
	reason(): string | null;
};

/** A command that takes longer has failed: whoever asks is answering a request. */
const COMMAND_MS = 250;
const CONNECT_MS = 2_000;
const AGAIN_MOST_MS = 2_000;
/** A connection that does not close by itself is cut. The client waits as long for one that is closed already. */
const CLOSE_MS = 100;

/** Prepares a connection to Redis; `connect` begins it. */
export function openRedis(url: string): RedisConnection {
	let reason: string | null = null;
	const client = new Redis(url, {
		lazyConnect: true,
		enableOfflineQueue: false,
		maxRetriesPerRequest: 0,
		commandTimeout: COMMAND_MS,
		connectTimeout: CONNECT_MS,
		disconnectTimeout: CLOSE_MS,
		retryStrategy: (times) => Math.min(AGAIN_MOST_MS, 50 * times),
	});
	client.on('error', (error: Error) => {
		reason = error.message === '' ? error.name : error.message;
	});
	client.on('ready', () => {
		reason = null;
	});
	return {
		client,
		// What it rejects with comes as an event too.
		connect: () => client.connect().catch(() => undefined),
		disconnect: () => client.disconnect(),
		reason: () => reason,
	};
}
