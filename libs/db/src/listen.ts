import { random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import pg from 'pg';
import { REPLAY_CHANNEL } from './statements/call-replayers.js';
import { OUTBOX_CHANNEL } from './statements/wake-flows.js';

/** Something that listens while it is started. */
export type Listener = { readonly name: string; start(): Promise<void>; stop(): Promise<void> };

/** Where is listened, and who is woken. */
export type ListenOptions = { readonly url: string; readonly log: Logger; readonly wake: () => void };

/** Listens for the notification that entries were appended. */
export function listenForEntries(options: ListenOptions): Listener {
	return listen({ ...options, name: 'outbox-listener', channel: OUTBOX_CHANNEL, what: 'outbox entries' });
}

/** Listens for the notification that a replay was started. */
export function listenForReplays(options: ListenOptions): Listener {
	return listen({ ...options, name: 'replay-listener', channel: REPLAY_CHANNEL, what: 'replays of dead letters' });
}

type Channel = ListenOptions & { readonly name: string; readonly channel: string; readonly what: string };

/**
 * Listens on a connection of its own. A lost connection is opened again, with backoff up to five seconds;
 * each time it listens anew it wakes once, for what was said meanwhile.
 */
function listen({ url, log, wake, name, channel, what }: Channel): Listener {
	let client: pg.Client | null = null;
	let timer: NodeJS.Timeout | null = null;
	let stopped = false;
	let failures = 0;

	const again = (error: Error): void => {
		if (stopped || timer !== null) return;
		failures += 1;
		if (failures === 1) log.warn({ reason: error.message }, `listening for ${what} was cut off; the poll goes on alone until it is back`);
		const ms = Math.min(5_000, 100 * 2 ** failures) * (0.5 + random());
		timer = setTimeout(() => {
			timer = null;
			void connect();
		}, ms);
	};
	const connect = async (): Promise<void> => {
		const fresh = new pg.Client({
			connectionString: url,
			application_name: 'tidings-listen',
			// Nothing is said here for hours: only so it is seen that the other side is gone.
			keepAlive: true,
			keepAliveInitialDelayMillis: 10_000,
			connectionTimeoutMillis: 5_000,
			query_timeout: 5_000,
		});
		client = fresh;
		fresh.on('error', again);
		fresh.on('end', () => again(new Error('connection ended')));
		fresh.on('notification', wake);
		try {
			await fresh.connect();
			await fresh.query(`listen ${channel}`);
			failures = 0;
			wake();
		} catch (error) {
			await fresh.end().catch(() => undefined);
			again(error instanceof Error ? error : new Error(String(error)));
		}
	};
	return {
		name,
		start: connect,
		stop: async () => {
			stopped = true;
			if (timer !== null) clearTimeout(timer);
			await client?.end().catch(() => undefined);
		},
	};
}
