import { openBroker } from '@tidings/broker';
import { openDb } from '@tidings/db';
import { mailSenderParts } from '@tidings/mail-sender';
import { DEFAULT_RETRY } from '@tidings/model';
import { outboxPublisherParts, RELAY_DEFAULTS } from '@tidings/outbox-publisher';
import { startParts, stopParts } from '@tidings/runtime';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { stretch } from './measure.js';

// A mail sender in a process of its own. The embedded broker lives in its memory, so the publisher works here too and its CPU counts against us.
const [url = '', count = '0'] = process.argv.slice(2);
const wanted = Number(count);
const log = createLogger({ service: 'bench', level: 'warn' });
const metrics = createMetrics({ service: 'bench', version: '0', processMetrics: false });
const db = openDb({ url, name: 'bench' });
const broker = await openBroker({ url: 'embedded:', namespace: 'public/default' });
await db.pool.query('update flow set next_at = now()');
const parts = [
	...outboxPublisherParts({ db, databaseUrl: url, broker, log, metrics, pollMs: 500, sweepSeconds: 15, healSeconds: 600, relay: RELAY_DEFAULTS }),
	...mailSenderParts({
		db,
		broker,
		log,
		metrics,
		openSecret: (sealed) => sealed,
		allowPrivateHosts: true,
		leaseSeconds: 120,
		deadlineSeconds: 90,
		connectSeconds: 5,
		readSeconds: 30,
		slots: 20,
		inHand: 1_000,
		policyOf: () => DEFAULT_RETRY,
	}),
];

/** Answers how many are SENT as soon as it is `least`. */
async function sentAtLeast(least: number): Promise<number> {
	for (;;) {
		const { rows } = await db.pool.query<{ n: number }>(`select count(*)::int as n from send_state where status = 'SENT'`);
		const n = rows[0]?.n ?? 0;
		if (n >= least) return n;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

const running = await startParts(parts, { log });
// The first ones warm the process up, as they do for nodemailer alone.
const warm = await sentAtLeast(1_000);
const sent = await stretch(async () => (await sentAtLeast(wanted)) - warm);
await stopParts(running, { log, deadlineSeconds: 20 });
process.stdout.write(`${JSON.stringify({ sent })}\n`);
process.exit(0);
