import { type BrokerOptions, openBroker } from '@tidings/broker';
import { type Db, openDb } from '@tidings/db';
import { topicsOf } from '@tidings/model';
import { type PublishContext, RELAY_DEFAULTS, relayOutbox } from '@tidings/outbox-publisher';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { createDatabase } from '../harness/database.js';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar } from '../harness/pulsar.js';
import { acceptRecords, makeSender, newRecord } from '../harness/records.js';
import { eachWay, setLimits } from './limits.js';
import { median, type Ratio, stretch } from './measure.js';

const ROWS = 30_000;
const ROUNDS = 5;

const EMBEDDED: BrokerOptions = { url: 'embedded:', namespace: 'public/default' };

/** Ratio 4: claim → publish → mark to the embedded broker, against two batch updates of 500 in SQL alone over rows of the same table. The notes say it through Pulsar. */
export async function benchRelay(server: string): Promise<Ratio> {
	const ours: number[] = [];
	const limited: number[] = [];
	const limits: number[] = [];
	const pulsar = await startPulsar();
	const throughPulsar: number[] = [];
	for (let round = 0; round < ROUNDS; round += 1) {
		limits.push(await withRows(server, updateTwice));
		const { without, within } = await eachWay(round, (isBound) => withRows(server, (db) => relayAll(db, EMBEDDED), isBound));
		ours.push(without);
		limited.push(within);
		const namespace = await createNamespace(pulsar.webUrl);
		throughPulsar.push(await withRows(server, (db) => relayAll(db, { url: namespace.wsUrl, namespace: namespace.namespace })));
	}
	await pulsar.stop();
	return {
		number: 4,
		name: 'outbox relay: take, publish to the embedded broker, mark',
		ours: median(ours),
		limited: median(limited),
		limit: median(limits),
		limitName: 'two batch updates in SQL alone',
		unit: 'entries/s',
		floor: 0.4,
		goal: 0.5,
		notes: {
			rows: ROWS,
			rounds: ROUNDS,
			'through Pulsar (WebSocket) per second': Math.round(median(throughPulsar)),
			'ratio through Pulsar': (median(throughPulsar) / median(limits)).toFixed(2),
		},
	};
}

async function withRows(server: string, act: (db: Db) => Promise<number>, isBound = false): Promise<number> {
	const database = await createDatabase(server);
	const db = openDb({ url: database.url, name: 'bench' });
	try {
		// A hundred flows, so that a turn takes from many.
		const senders = await Promise.all(Array.from({ length: 100 }, () => makeSender(db)));
		if (isBound) await setLimits(db.pool, true);
		for (let n = 0; n < ROWS; n += 1_000)
			await acceptRecords(
				db,
				Array.from({ length: 1_000 }, (_, index) => newRecord(senders[index % 100] ?? never())),
			);
		await db.pool.query('update flow set next_at = now()');
		await db.pool.query('vacuum analyze outbox_entry');
		await db.pool.query('checkpoint');
		return await act(db);
	} finally {
		await db.close();
		await database.drop();
	}
}

function never(): never {
	throw new Error('there are a hundred senders');
}

async function updateTwice(db: Db): Promise<number> {
	const { rows } = await db.pool.query<{ id: string }>('select id from outbox_entry order by flow_id, due_at');
	const run = await stretch(async () => {
		for (let n = 0; n < rows.length; n += 500) {
			const ids = rows.slice(n, n + 500).map((row) => row.id);
			await db.pool.query({
				name: 'bench-take',
				text: `update outbox_entry set taken = true, status = 'PUBLISHING', lease_until = now() + interval '30 s' where id = any($1) and status = 'NEW'`,
				values: [ids],
			});
			await db.pool.query({
				name: 'bench-mark',
				text: `update outbox_entry set status = 'PUBLISHED', published_at = now(), lease_until = now() + interval '10 min' where id = any($1) and status = 'PUBLISHING'`,
				values: [ids],
			});
		}
		return rows.length;
	});
	return run.items / run.seconds;
}

async function relayAll(db: Db, at: BrokerOptions): Promise<number> {
	const broker = await openBroker(at);
	await broker.ensureTopics(topicsOf('mail-send'));
	const log = createLogger({ service: 'bench', level: 'error' });
	const metrics = createMetrics({ service: 'bench', version: '0', processMetrics: false });
	const topics = { turn: () => 0, missing: () => undefined, rest: () => undefined };
	const context: PublishContext = {
		db,
		broker,
		log,
		metrics,
		healSeconds: 600,
		messagingSystem: 'none',
		warnOfRoute: () => undefined,
		topics,
		confirmedAt: new Map(),
	};
	const run = await stretch(async () => {
		await relayOutbox(context, { ...RELAY_DEFAULTS, window: 1_000 }, new AbortController().signal);
		return await backlog();
	});
	if (run.items !== ROWS) throw new Error(`${run.items} of ${ROWS} entries were published`);
	await broker.close();
	return run.items / run.seconds;

	async function backlog(): Promise<number> {
		const counts = await Promise.all(topicsOf('mail-send').map(({ topic, subscription }) => broker.backlog(topic, subscription)));
		return counts.reduce((sum, count) => sum + count, 0);
	}
}
