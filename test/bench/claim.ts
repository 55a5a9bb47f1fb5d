import { claimRecords, type Db, ensureFlows, markPublished, openDb, takeEntries } from '@tidings/db';
import { newId } from '@tidings/model';
import { createDatabase } from '../harness/database.js';
import { makeSender } from '../harness/records.js';
import { appendMails, fillQueue, type QueueOf } from './fill-queue.js';
import { median, quantile, type Ratio } from './measure.js';

const FEW = 1_000;
const FLOWS = 100;
const BATCH = 100;
const WARM_UP = 50;
const CLAIMS = 300;
const ROUNDS = 3;

/** Milliseconds of one batch: for the publisher to take it, and for a sender to claim it. */
type Times = { readonly take: number; readonly claim: number };
/** A database in which so many mails are due, before and after every claim. */
type Queue = { next(): Promise<Times>; drop(): Promise<void> };

/**
 * Ratio 5: the slow claims (p95) with `rows` due mails behind them, against those with 1,000. Both databases have a hundred flows; in each in turn a batch goes the whole way, taken from
 * the outbox, marked and claimed, and as many mails are appended. What was claimed stays SENDING in both. The notes say it of taking from the outbox, too.
 */
export async function benchClaim(server: string, rows: number): Promise<Ratio> {
	const few = await openQueue(server, FEW);
	const many = await openQueue(server, rows);
	try {
		for (let n = 0; n < WARM_UP; n += 1) for (const queue of [few, many]) await queue.next();
		const rounds: { few: Times[]; many: Times[] }[] = [];
		for (let round = 0; round < ROUNDS; round += 1) {
			const times: { few: Times[]; many: Times[] } = { few: [], many: [] };
			for (let n = 0; n < CLAIMS; n += 1) {
				times.few.push(await few.next());
				times.many.push(await many.next());
			}
			rounds.push(times);
		}
		const ms = (size: 'few' | 'many', act: keyof Times, share: number): number =>
			median(
				rounds.map((times) =>
					quantile(
						times[size].map((one) => one[act]),
						share,
					),
				),
			);
		const beside = (act: keyof Times, share: number): string =>
			`${ms('many', act, share).toFixed(1)} beside ${ms('few', act, share).toFixed(1)}`;
		return {
			number: 5,
			name: `claims of ${BATCH} with ${rows} due mails behind them`,
			ours: 1_000 / ms('many', 'claim', 0.95),
			limit: 1_000 / ms('few', 'claim', 0.95),
			limitName: `with ${FEW} behind them`,
			unit: 'claims/s by the p95',
			floor: 0.5,
			goal: 0.5,
			notes: {
				claims: CLAIMS,
				rounds: ROUNDS,
				'claim p95 ms': beside('claim', 0.95),
				'claim p50 ms': beside('claim', 0.5),
				'take from the outbox p95 ms': beside('take', 0.95),
				'take from the outbox p50 ms': beside('take', 0.5),
			},
		};
	} finally {
		await few.drop();
		await many.drop();
	}
}

async function openQueue(server: string, rows: number): Promise<Queue> {
	const database = await createDatabase(server);
	const db = openDb({ url: database.url, name: 'bench', connections: 1 });
	const senders = await Promise.all(Array.from({ length: FLOWS }, () => makeSender(db)));
	const flows = await ensureFlows(
		db.pool,
		senders.map(({ tenantId, configId }) => ({ tenantId, gate: configId, lane: 'normal', route: 'mail-send' })),
	);
	const queues = senders.map((sender, n) => ({ ...sender, flowId: flows[n] ?? '' }));
	await fillQueue(database.url, queues, rows);
	await db.pool.query('update flow set next_at = now()');
	const configs = new Map(queues.map((one) => [one.tenantId, one.configId]));
	return {
		next: async () => await claimBatch(db, queues, configs),
		drop: async () => {
			await db.close();
			await database.drop();
		},
	};
}

async function claimBatch(db: Db, queues: readonly QueueOf[], configs: ReadonlyMap<string, string>): Promise<Times> {
	const began = performance.now();
	const taken = await takeEntries(db.pool, { shares: { urgent: 0, normal: BATCH, bulk: 0 }, window: 200, leaseSeconds: 30 });
	const take = performance.now() - began;
	await markPublished(db.pool, { ids: taken.map((entry) => entry.id), lease: taken[0]?.lease ?? '' }, 600);
	const keys = taken.map(({ id, tenantId }) => ({ recordId: id, tenantId, configId: configs.get(tenantId) ?? '' }));
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'bench', claim: newId() } as const;
	const claimBegan = performance.now();
	const { claimed } = await claimRecords(db.pool, keys, claimant);
	const claim = performance.now() - claimBegan;
	if (claimed.length !== BATCH) throw new Error(`${claimed.length} of ${taken.length} taken entries were claimed, instead of ${BATCH}`);
	await appendMails(db.pool, queues, BATCH);
	return { take, claim };
}
