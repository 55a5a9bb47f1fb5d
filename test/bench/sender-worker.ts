import { topicsOf } from '@tidings/model';
import { RELAY_DEFAULTS, relayOutbox } from '@tidings/outbox-publisher';
import { startParts, stopParts } from '@tidings/runtime';
import { stretch } from './measure.js';
import { openMesh } from './worker-mesh.js';

// A mail sender in a process of its own, by default with the embedded broker in its memory. `first`: the publisher has published everything and is gone before
// the sender starts, so that the CPU is the sender's alone; `along`: the publisher works in this process all the while, and its CPU counts too.
const [url = '', count = '0', publisher = 'first', redisUrl = '', brokerUrl, namespace] = process.argv.slice(2);
const wanted = Number(count);
const mesh = await openMesh({ url, redisUrl, brokerUrl, namespace });
const { db, broker, log, metrics, healSeconds } = mesh;
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

/** Answers how many are SENT as soon as it is `least`. */
async function sentAtLeast(least: number): Promise<number> {
	for (;;) {
		const { rows } = await db.pool.query<{ n: number }>(`select count(*)::int as n from send_state where status = 'SENT'`);
		const n = rows[0]?.n ?? 0;
		if (n >= least) return n;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

const running = await startParts(publisher === 'first' ? mesh.sender() : [...mesh.publisher(), ...mesh.sender()], { log });
// The first ones warm the process up, as they do for nodemailer alone.
const warm = await sentAtLeast(1_000);
const sent = await stretch(async () => (await sentAtLeast(wanted)) - warm);
await stopParts(running, { log, deadlineSeconds: 20 });
process.stdout.write(`${JSON.stringify({ sent })}\n`);
process.exit(0);
