import { openSync, writeSync } from 'node:fs';
import { openBroker } from '@tidings/broker';
import { openDb } from '@tidings/db';
import { createMemoryWindows } from '@tidings/limits';
import { mailSenderParts } from '@tidings/mail-sender';
import { topicsOf } from '@tidings/model';
import { outboxPublisherParts, RELAY_DEFAULTS, relayOutbox } from '@tidings/outbox-publisher';
import { startParts, stopParts } from '@tidings/runtime';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { SENDER_DEFAULTS } from '../harness/mesh.js';
import { stretch } from './measure.js';

// A mail sender in a process of its own, by default with the embedded broker in its memory. `first`: the publisher has published everything and is gone before
// the sender starts, so that the CPU is the sender's alone; `along`: the publisher works in this process all the while, and its CPU counts too.
const [url = '', count = '0', publisher = 'first', brokerUrl = 'embedded:', namespace = 'public/default'] = process.argv.slice(2);
const wanted = Number(count);
// The default level: a line for each attempt is part of the work.
const nowhere = openSync('/dev/null', 'w');
const log = createLogger({ service: 'bench', level: 'info', destination: { write: (line) => void writeSync(nowhere, line) } });
const metrics = createMetrics({ service: 'bench', version: '0', processMetrics: false });
const db = openDb({ url, name: 'bench' });
const broker = await openBroker({ url: brokerUrl, namespace });
const healSeconds = 600;
await db.pool.query('update flow set next_at = now()');
if (publisher === 'first') {
	await broker.ensureTopics(topicsOf('mail-send'));
	const topics = { turn: () => 0, missing: () => undefined, rest: () => undefined };
	const context = {
		db,
		broker,
		log,
		metrics,
		healSeconds,
		messagingSystem: 'none',
		warnOfRoute: () => undefined,
		topics,
		confirmedAt: new Map(),
	};
	await relayOutbox(context, { ...RELAY_DEFAULTS, window: wanted }, new AbortController().signal);
}
const sender = mailSenderParts({ db, broker, log, metrics, limits: createMemoryWindows(), ...SENDER_DEFAULTS });
const along = { db, databaseUrl: url, broker, log, metrics, pollMs: 500, sweepSeconds: 15, healSeconds, relay: RELAY_DEFAULTS };

/** Answers how many are SENT as soon as it is `least`. */
async function sentAtLeast(least: number): Promise<number> {
	for (;;) {
		const { rows } = await db.pool.query<{ n: number }>(`select count(*)::int as n from send_state where status = 'SENT'`);
		const n = rows[0]?.n ?? 0;
		if (n >= least) return n;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

const running = await startParts(publisher === 'first' ? sender : [...outboxPublisherParts(along), ...sender], { log });
// The first ones warm the process up, as they do for nodemailer alone.
const warm = await sentAtLeast(1_000);
const sent = await stretch(async () => (await sentAtLeast(wanted)) - warm);
await stopParts(running, { log, deadlineSeconds: 20 });
process.stdout.write(`${JSON.stringify({ sent })}\n`);
process.exit(0);
