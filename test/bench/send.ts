import { openDb } from '@tidings/db';
import { createDatabase } from '../harness/database.js';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar } from '../harness/pulsar.js';
import { acceptRecords, makeSender, newRecord } from '../harness/records.js';
import { startChild } from './child.js';
import { eachWay, setLimits } from './limits.js';
import { mailOf } from './mail.js';
import { median, type Ratio, type Stretch } from './measure.js';

const MAILS = 10_000;
const ROUNDS = 3;

/**
 * Ratio 3: accepted → SENT through the broker and a real mail server, per CPU-second of the sender, against nodemailer alone. Both send the same mails
 * through 20 connections to the same server in a process of its own, after 1,000 mails of warm-up; CPU is user and system time of the whole process.
 * The embedded broker lives in the sender's memory, so the publisher has to work there too. `ours` is the sender alone: everything was published before
 * it started. The notes say what comes out when the publisher works along in the same process, with its usual window, as in standalone, and when the messages come from
 * Pulsar over WebSocket. With limits, the sender asks a real Redis for every batch; without, its memory.
 */
export async function benchSend(server: string, redisUrl: string): Promise<Ratio> {
	const limits: Stretch[] = [];
	const ours: Stretch[] = [];
	const limited: Stretch[] = [];
	const along: Stretch[] = [];
	const throughPulsar: Stretch[] = [];
	const pulsar = await startPulsar();
	const sink = startChild('sink-worker.ts');
	const { port } = await sink.next<{ port: number }>();
	for (let round = 0; round < ROUNDS; round += 1) {
		const alone = startChild('nodemailer-worker.ts', String(port), String(MAILS));
		limits.push((await alone.next<{ sent: Stretch }>()).sent);
		await alone.end();
		const { without, within } = await eachWay(round, (isBound) =>
			sendAll(server, { port, publisher: 'first', redisUrl: isBound ? redisUrl : '', broker: [] }),
		);
		ours.push(without);
		limited.push(within);
		along.push(await sendAll(server, { port, publisher: 'along', redisUrl: '', broker: [] }));
		const { wsUrl, namespace } = await createNamespace(pulsar.webUrl);
		throughPulsar.push(await sendAll(server, { port, publisher: 'first', redisUrl: '', broker: [wsUrl, namespace] }));
	}
	await sink.end();
	await pulsar.stop();
	return {
		number: 3,
		name: 'accepted → SENT, per CPU-second of the mail sender',
		ours: perCpu(ours),
		limited: perCpu(limited),
		limit: perCpu(limits),
		limitName: 'nodemailer alone',
		unit: 'mails/CPU-s',
		floor: 0.7,
		goal: 0.85,
		notes: {
			mails: MAILS,
			rounds: ROUNDS,
			'with the publisher in the same process': Math.round(perCpu(along)),
			'through Pulsar (WebSocket)': Math.round(perCpu(throughPulsar)),
			'ratio through Pulsar': (perCpu(throughPulsar) / perCpu(limits)).toFixed(2),
			'ours per second': perSecond(ours),
			'ours per second, with limits and quota': perSecond(limited),
			'ours per second, with the publisher': perSecond(along),
			'ours per second, through Pulsar': perSecond(throughPulsar),
			'nodemailer per second': perSecond(limits),
		},
	};
}

const perCpu = (runs: readonly Stretch[]): number => median(runs.map((run) => run.items / run.cpuSeconds));
const perSecond = (runs: readonly Stretch[]): number => Math.round(median(runs.map((run) => run.items / run.seconds)));

/** The mail server's port, when the publisher works (see sender-worker), the Redis of the limits (empty: there are none), and the broker's address and namespace (none: embedded). */
type Way = { readonly port: number; readonly publisher: 'first' | 'along'; readonly redisUrl: string; readonly broker: readonly string[] };

/** Sends a fresh database's mails. */
async function sendAll(server: string, { port, publisher, redisUrl, broker }: Way): Promise<Stretch> {
	const database = await createDatabase(server);
	await acceptMails(database.url, port, redisUrl !== '');
	const worker = startChild('sender-worker.ts', database.url, String(MAILS), publisher, redisUrl, ...broker);
	const { sent } = await worker.next<{ sent: Stretch }>();
	await worker.end();
	await database.drop();
	return sent;
}

async function acceptMails(url: string, port: number, isBound: boolean): Promise<void> {
	const db = openDb({ url, name: 'bench' });
	const sender = await makeSender(db, { port });
	if (isBound) await setLimits(db.pool, true);
	for (let n = 0; n < MAILS; n += 500) {
		const records = Array.from({ length: 500 }, (_, index) => newRecord(sender, { text: null, ...mailOf(n + index) }));
		await acceptRecords(db, records);
	}
	await db.pool.query('vacuum analyze');
	await db.close();
}
