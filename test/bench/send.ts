import { openDb } from '@tidings/db';
import { createDatabase } from '../harness/database.js';
import { acceptRecords, makeSender, newRecord } from '../harness/records.js';
import { startChild } from './child.js';
import { mailOf } from './mail.js';
import { median, type Ratio, type Stretch } from './measure.js';

const MAILS = 10_000;
const ROUNDS = 3;

/** Ratio 3: accepted → SENT through the broker and a real mail server, per CPU-second of the sender, against nodemailer alone. */
export async function benchSend(server: string): Promise<Ratio> {
	const ours: Stretch[] = [];
	const limits: Stretch[] = [];
	const sink = startChild('sink-worker.ts');
	const { port } = await sink.next<{ port: number }>();
	for (let round = 0; round < ROUNDS; round += 1) {
		const alone = startChild('nodemailer-worker.ts', String(port), String(MAILS));
		limits.push((await alone.next<{ sent: Stretch }>()).sent);
		await alone.end();
		const database = await createDatabase(server);
		await acceptMails(database.url, port);
		const worker = startChild('sender-worker.ts', database.url, String(MAILS));
		ours.push((await worker.next<{ sent: Stretch }>()).sent);
		await worker.end();
		await database.drop();
	}
	await sink.end();
	const perCpu = (runs: readonly Stretch[]): number => median(runs.map((run) => run.items / run.cpuSeconds));
	const perSecond = (runs: readonly Stretch[]): number => Math.round(median(runs.map((run) => run.items / run.seconds)));
	return {
		number: 3,
		name: 'accepted → SENT, per CPU-second of the mail sender (with the publisher in the same process)',
		ours: perCpu(ours),
		limit: perCpu(limits),
		limitName: 'nodemailer alone',
		unit: 'mails/CPU-s',
		floor: 0.7,
		goal: 0.85,
		notes: {
			mails: MAILS,
			rounds: ROUNDS,
			'ours per second': perSecond(ours),
			'nodemailer per second': perSecond(limits),
		},
	};
}

async function acceptMails(url: string, port: number): Promise<void> {
	const db = openDb({ url, name: 'bench' });
	const senders = await Promise.all(Array.from({ length: 1 }, () => makeSender(db, { port })));
	for (let n = 0; n < MAILS; n += 500) {
		const records = Array.from({ length: 500 }, (_, index) => {
			const sender = senders[index % senders.length];
			if (sender === undefined) throw new Error('no sender');
			return newRecord(sender, { text: null, ...mailOf(n + index) });
		});
		await acceptRecords(db, records);
	}
	await db.pool.query('vacuum analyze');
	await db.close();
}
