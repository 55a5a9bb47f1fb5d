import { type AcceptRequest, type AcceptResult, acceptBatch, type Db, ensureFlows, type NewRecord, troubleOf } from '@tidings/db';
import { now, Problem } from '@tidings/model';
import { channelLabel, type Logger, type Metrics } from '@tidings/telemetry';
import { createWaker } from './wake-after-commit.js';

/** A record to be accepted; the acceptor fills in its flow. */
export type PendingRecord = NewRecord & { flowId: string };

/** What one caller wants accepted. */
export type PendingRequest = AcceptRequest & { readonly records: readonly PendingRecord[] };

/** Accepts requests of many callers at once. */
export type Acceptor = {
	/**
	 * Resolves when the request is committed (or was before, or cannot be). `bytes`: about how large its contents are.
	 * Rejects with a `Problem`: 503 when the database is away or too much waits, 500 when the request's own data cannot be stored.
	 */
	accept(request: PendingRequest, bytes: number): Promise<AcceptResult>;
	/** Finishes what was taken. */
	stop(): Promise<void>;
};

/** What one transaction holds at most. A request that is larger by itself goes alone. */
const MOST = { callers: 256, rows: 1_000, bytes: 4_000_000 };
/** Transactions at once: with more, they only wait for each other's flush (performance.md, "Accept"). */
const IN_FLIGHT = 2;
/** What may wait; more is refused at once, so that a slow database does not fill the memory. */
const WAITING = { callers: 5_000, bytes: 256_000_000 };
/** Flows remembered; their ids never change. */
const REMEMBER_FLOWS = 100_000;

type Caller = {
	readonly request: PendingRequest;
	readonly bytes: number;
	readonly key: string | null;
	resolve(result: AcceptResult): void;
	reject(error: unknown): void;
};

/**
 * Makes the micro-batcher (design §5): callers that come while the event loop turns, or while earlier ones are being committed, share one transaction. No timer: an idle server accepts at once.
 * A data error runs the callers of its batch again in halves, so that it meets only the one that brought it.
 */
export function createAcceptor({
	pool,
	log,
	metrics,
}: {
	readonly pool: Db['pool'];
	readonly log: Logger;
	readonly metrics: Metrics;
}): Acceptor {
	const waker = createWaker(pool, log);
	const flows = new Map<string, string>();
	const keys = new Set<string>();
	let queue: Caller[] = [];
	let queuedBytes = 0;
	let inFlight = 0;
	let isScheduled = false;
	let idle: (() => void) | null = null;

	const schedule = (): void => {
		if (isScheduled || queue.length === 0 || inFlight >= IN_FLIGHT) return;
		isScheduled = true;
		setImmediate(() => {
			isScheduled = false;
			while (inFlight < IN_FLIGHT && queue.length > 0) begin(takeBatch());
		});
	};
	const takeBatch = (): Caller[] => {
		const sum = { rows: 0, bytes: 0 };
		const end = queue.findIndex(({ request, bytes }, index) => {
			sum.rows += request.records.length;
			sum.bytes += bytes;
			return index > 0 && (index >= MOST.callers || sum.rows > MOST.rows || sum.bytes > MOST.bytes);
		});
		const batch = end === -1 ? queue : queue.slice(0, end);
		queue = end === -1 ? [] : queue.slice(end);
		queuedBytes -= batch.reduce((bytes, caller) => bytes + caller.bytes, 0);
		return batch;
	};
	const begin = (batch: readonly Caller[]): void => {
		inFlight += 1;
		void run(batch).finally(() => {
			inFlight -= 1;
			for (const { key } of batch) if (key !== null) keys.delete(key);
			schedule();
			if (inFlight === 0 && queue.length === 0) idle?.();
		});
	};
	const run = async (batch: readonly Caller[]): Promise<void> => {
		try {
			await fillFlows(batch);
			const requests = batch.map((caller) => caller.request);
			finish(batch, await acceptBatch(pool, requests));
		} catch (error) {
			const trouble = troubleOf(error);
			if (batch.length > 1 && (trouble === 'data' || trouble === 'bug')) {
				const half = batch.length >> 1;
				await run(batch.slice(0, half));
				await run(batch.slice(half));
				return;
			}
			for (const caller of batch) caller.reject(trouble === 'data' ? undeniable(error) : error);
		}
	};
	/** Gives every record its flow; flows that are new are made first, outside the transaction: they are hints, not facts. */
	const fillFlows = async (batch: readonly Caller[]): Promise<void> => {
		const missing = new Map<string, PendingRecord[]>();
		for (const { request } of batch) {
			for (const record of request.records) {
				const key = flowOf(record);
				const known = flows.get(key);
				const waiting = missing.get(key);
				if (known !== undefined) record.flowId = known;
				else if (waiting !== undefined) waiting.push(record);
				else missing.set(key, [record]);
			}
		}
		if (missing.size === 0) return;
		const wanted = [...missing.values()].flatMap(([first]) =>
			first === undefined ? [] : { tenantId: first.tenantId, gate: first.configId, lane: first.lane, route: first.route },
		);
		const ids = await ensureFlows(pool, wanted);
		if (flows.size + missing.size > REMEMBER_FLOWS) flows.clear();
		for (const [index, [key, records]] of [...missing].entries()) {
			const id = ids[index] ?? '';
			flows.set(key, id);
			for (const record of records) record.flowId = id;
		}
	};
	const finish = (batch: readonly Caller[], results: readonly AcceptResult[]): void => {
		const fresh = results.flatMap((result, index) => {
			const records: readonly PendingRecord[] = batch[index]?.request.records ?? [];
			if (result.kind !== 'accepted') return [];
			return result.deduplicated.length === 0 ? records : records.filter((_, n) => !result.deduplicated.includes(n));
		});
		const at = now();
		waker.wake(fresh.map(({ flowId, notBefore }) => ({ flowId, dueAt: notBefore !== null && notBefore > at ? notBefore : null })));
		if (fresh.length > 0) count(fresh, metrics);
		for (const [index, caller] of batch.entries()) {
			const result = results[index];
			if (result === undefined) caller.reject(new Error('an accepting transaction left a caller without an answer'));
			else caller.resolve(result);
		}
	};
	return {
		accept: (request, bytes) => {
			const key =
				request.idempotency === null
					? null
					: [request.idempotency.tenantId, request.idempotency.operation, request.idempotency.key].join('\n');
			if (key !== null && keys.has(key)) return Promise.resolve({ kind: 'in-flight' });
			if (queue.length >= WAITING.callers || queuedBytes + bytes > WAITING.bytes) {
				return Promise.reject(
					new Problem('dependency-away', 'More is waiting to be accepted than the database takes. Repeat the request.', {
						retryAfterSeconds: 1,
					}),
				);
			}
			if (key !== null) keys.add(key);
			queuedBytes += bytes;
			return new Promise((resolve, reject) => {
				queue.push({ request, bytes, key, resolve, reject });
				schedule();
			});
		},
		stop: async () => {
			if (inFlight > 0 || queue.length > 0) await new Promise<void>((resolve) => (idle = resolve));
			await waker.stop();
		},
	};
}

function flowOf({ tenantId, configId, lane, route }: NewRecord): string {
	return `${tenantId} ${configId} ${lane} ${route}`;
}

function undeniable(error: unknown): Problem {
	return new Problem('internal-error', 'This request holds something that cannot be stored. Quote the traceId when you report it.', {
		cause: error,
	});
}

function count(fresh: readonly NewRecord[], metrics: Metrics): void {
	metrics.acceptBatchRecords.observe(fresh.length);
	const sums = new Map<string, { record: NewRecord; n: number }>();
	for (const record of fresh) {
		const sum = sums.get(`${record.lane} ${record.scope}`);
		if (sum === undefined) sums.set(`${record.lane} ${record.scope}`, { record, n: 1 });
		else sum.n += 1;
	}
	for (const { record, n } of sums.values())
		metrics.recordsAcceptedTotal.inc({ channel: channelLabel(record.channel), lane: record.lane, scope: record.scope }, n);
}
