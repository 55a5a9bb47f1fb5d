import {
	type AcceptOptions,
	type AcceptResult,
	acceptBatch,
	type Db,
	type NewRecord,
	type QuotaRefusal,
	type QuotaWarning,
	tellWarnings,
	troubleOf,
} from '@tidings/db';
import { type MonthlyCaps, NO_CAPS, now, Problem } from '@tidings/model';
import { channelLabel, detached, type Logger, type Metrics } from '@tidings/telemetry';
import { createAcceptQueue, type PendingRequest, type WaitingCaller } from './accept-queue.js';
import { createFillFlows } from './flow-ids.js';
import { rememberFullQuotas } from './quota/remember-full.js';
import { createWaker, type Waker } from './wake-after-commit.js';

/** Accepts requests of many callers at once. */
export type Acceptor = {
	/**
	 * Resolves when the request is committed (or was before, or cannot be). `bytes`: about how large its contents are.
	 * Rejects with the database's error when that is away, with a `Problem` 503 when too much waits, and with one of 500 when the request's own data cannot be stored.
	 */
	accept(request: PendingRequest, bytes: number): Promise<AcceptResult>;
	/** Finishes what was taken. */
	stop(): Promise<void>;
};

/** Transactions at once: with more, they only wait for each other's flush. */
const IN_FLIGHT = 2;

/** What accepting needs. */
export type AcceptorOptions = {
	readonly pool: Db['pool'];
	readonly log: Logger;
	readonly metrics: Metrics;
	/** The monthly caps of tenants for whom nothing is set; default: none. */
	readonly caps?: MonthlyCaps;
};

/**
 * Makes the micro-batcher: callers that come while the event loop turns, or while earlier ones are being committed, share one transaction. No timer: an idle server accepts at once.
 */
export function createAcceptor(options: AcceptorOptions): Acceptor {
	const waker = createWaker(() => options.pool.connect(), options.log);
	const runBatch = createRunBatch(options.pool, options.caps ?? NO_CAPS, eventsOf(options, waker));
	const queue = createAcceptQueue();
	const keys = new Set<string>();
	let inFlight = 0;
	let isScheduled = false;
	let onIdle: (() => void) | null = null;

	const begin = (batch: readonly WaitingCaller[]): void => {
		inFlight += 1;
		void runBatch(batch).finally(() => {
			inFlight -= 1;
			schedule();
			if (inFlight === 0 && queue.length === 0) onIdle?.();
		});
	};
	const schedule = (): void => {
		if (isScheduled || queue.length === 0 || inFlight >= IN_FLIGHT) return;
		isScheduled = true;
		const run = (): void => {
			isScheduled = false;
			while (inFlight < IN_FLIGHT && queue.length > 0) begin(queue.take());
		};
		detached(() => setImmediate(run));
	};
	return {
		accept: (request, bytes) => {
			const key = keyOf(request);
			if (key !== null && keys.has(key)) return Promise.resolve({ kind: 'in-flight' });
			return new Promise((resolve, reject) => {
				// The key is free before the answer: whoever repeats it then is no twin in flight.
				const free = <T>(tell: (told: T) => void) => {
					return (told: T): void => {
						if (key !== null) keys.delete(key);
						tell(told);
					};
				};
				if (!queue.add({ request, bytes, resolve: free(resolve), reject: free(reject) })) {
					reject(
						new Problem('dependency-away', 'More is waiting to be accepted than the database takes. Repeat the request.', {
							retryAfterSeconds: 1,
						}),
					);
					return;
				}
				if (key !== null) keys.add(key);
				schedule();
			});
		},
		stop: async () => {
			if (inFlight > 0 || queue.length > 0) {
				await new Promise<void>((resolve) => {
					onIdle = resolve;
				});
			}
			await waker.stop();
		},
	};
}

function eventsOf(options: AcceptorOptions, waker: Waker): BatchEvents {
	return {
		onCommit: (fresh) => {
			const at = now();
			waker.wake(fresh.map(({ flowId, notBefore }) => ({ flowId, dueAt: notBefore !== null && notBefore > at ? notBefore : null })));
			count(fresh, options.metrics);
		},
		onWarning: (warnings) => tellWarnings(warnings, options),
		onRefusal: ({ channel, scope }) => options.metrics.quotaRefusalsTotal.inc({ channel: channelLabel(channel), scope }),
	};
}

function keyOf({ idempotency }: PendingRequest): string | null {
	return idempotency === null ? null : [idempotency.tenantId, idempotency.operation, idempotency.key].join('\n');
}

/** Is told what a batch has come to. */
type BatchEvents = {
	/** The records that were written. */
	onCommit(fresh: readonly PendingRequest['records'][number][]): void;
	onWarning(warnings: readonly QuotaWarning[]): void;
	onRefusal(refusal: QuotaRefusal): void;
};

/**
 * Makes what runs one batch and answers its callers; it never rejects.
 * When the data is at fault, the callers are run again in halves, until only the one that brought the fault meets it. Callers whose quota had no room a moment ago go after the others, by themselves.
 */
function createRunBatch(pool: Db['pool'], caps: MonthlyCaps, events: BatchEvents): (batch: readonly WaitingCaller[]) => Promise<void> {
	const fillFlows = createFillFlows(pool);
	const full = rememberFullQuotas();
	const run = async (batch: readonly WaitingCaller[], options: AcceptOptions): Promise<void> => {
		let results: readonly AcceptResult[];
		try {
			await fillFlows(batch.flatMap((caller) => caller.request.records));
			const requests = batch.map((caller) => caller.request);
			const outcome = await acceptBatch(pool, requests, options);
			results = outcome.results;
			events.onWarning(outcome.warnings);
		} catch (error) {
			const trouble = troubleOf(error);
			if (batch.length > 1 && (trouble === 'data' || trouble === 'bug')) {
				const half = batch.length >> 1;
				await run(batch.slice(0, half), options);
				await run(batch.slice(half), options);
			} else for (const caller of batch) caller.reject(trouble === 'data' ? unstorable(error) : error);
			return;
		}
		for (const [index, caller] of batch.entries()) {
			const result = results[index];
			answer(caller, result);
			full.note(caller, result);
			if (result?.kind === 'over-quota') events.onRefusal(result);
		}
		const fresh = batch.flatMap((caller, index) => writtenOf(caller, results[index]));
		if (fresh.length > 0) events.onCommit(fresh);
	};
	return async (batch) => {
		const { free, careful } = full.part(batch);
		if (free.length > 0) await run(free, { caps });
		if (careful.length > 0) await run(careful, { caps, careful: true });
	};
}

function writtenOf(caller: WaitingCaller, result: AcceptResult | undefined): PendingRequest['records'] {
	if (result?.kind !== 'accepted') return [];
	const { records } = caller.request;
	if (result.deduplicated.length === 0) return records;
	const known = new Set(result.deduplicated);
	return [...records].filter((_, index) => !known.has(index));
}

function answer(caller: WaitingCaller, result: AcceptResult | undefined): void {
	if (result === undefined) caller.reject(new Error('an accepting transaction left a caller without an answer'));
	else caller.resolve(result);
}

function unstorable(error: unknown): Problem {
	return new Problem('internal-error', 'This request holds something that cannot be stored. Quote the traceId when you report it.', {
		cause: error,
	});
}

function count(fresh: readonly NewRecord[], metrics: Metrics): void {
	metrics.acceptBatchRecords.observe(fresh.length);
	const sums = new Map<string, { record: NewRecord; n: number }>();
	for (const record of fresh) {
		const kind = `${record.channel} ${record.lane} ${record.scope}`;
		const sum = sums.get(kind);
		if (sum === undefined) sums.set(kind, { record, n: 1 });
		else sum.n += 1;
	}
	for (const { record, n } of sums.values())
		metrics.recordsAcceptedTotal.inc({ channel: channelLabel(record.channel), lane: record.lane, scope: record.scope }, n);
}
