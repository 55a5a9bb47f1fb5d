import { random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import pg from 'pg';
import { OUTBOX_CHANNEL } from './statements/wake-flows.js';

/**
 * Listens for the notification that entries were appended, on a connection of its own. A lost connection is opened again, with backoff up to five seconds;
 * each time it listens anew it wakes once, for what was said meanwhile.
 */
export function listenForEntries(options: { url: string; log: Logger; onEntries: () => void }): {
	name: string;
	start(): Promise<void>;
	stop(): Promise<void>;
} {
	let client: pg.Client | null = null;
	let timer: NodeJS.Timeout | null = null;
	let stopped = false;
	let failures = 0;

	const again = (error: Error): void => {
		if (stopped || timer !== null) return;
		failures += 1;
		if (failures === 1)
			options.log.warn({ reason: error.message }, 'listening for outbox entries was cut off; the poll goes on alone until it is back');
		const ms = Math.min(5_000, 100 * 2 ** failures) * (0.5 + random());
		timer = setTimeout(() => {
			timer = null;
			void connect();
		}, ms);
	};
	const connect = async (): Promise<void> => {
		const fresh = new pg.Client({
			connectionString: options.url,
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
		fresh.on('notification', options.onEntries);
		try {
			await fresh.connect();
			await fresh.query(`listen ${OUTBOX_CHANNEL}`);
			failures = 0;
			options.onEntries();
		} catch (error) {
			await fresh.end().catch(() => undefined);
			again(error instanceof Error ? error : new Error(String(error)));
		}
	};
	return {
		name: 'outbox-listener',
		start: connect,
		stop: async () => {
			stopped = true;
			if (timer !== null) clearTimeout(timer);
			await client?.end().catch(() => undefined);
		},
	};
}
