import type { AcceptRequest, AcceptResult } from '@tidings/db';
import type { PendingRecord } from './flow-ids.js';

/** What one caller wants accepted. */
export type PendingRequest = AcceptRequest & { readonly records: readonly PendingRecord[] };

/** A caller that waits for its request to be accepted. */
export type WaitingCaller = {
	readonly request: PendingRequest;
	/** About how large its contents are. */
	readonly bytes: number;
	resolve(result: AcceptResult): void;
	reject(error: unknown): void;
};

/** Callers in order of arrival. */
export type AcceptQueue = {
	readonly length: number;
	/** False: too much waits already. */
	add(caller: WaitingCaller): boolean;
	/** The next callers that share a transaction: as many as fit, at least one. */
	take(): readonly WaitingCaller[];
};

/** What one transaction holds at most. A request that is larger by itself goes alone. */
const BATCH = { callers: 256, rows: 1_000, bytes: 4_000_000 };
/** What may wait; more is refused, so that a slow database does not fill the memory. */
const WAITING = { callers: 5_000, bytes: 256_000_000 };

/** Makes an empty queue. */
export function createAcceptQueue(): AcceptQueue {
	let callers: WaitingCaller[] = [];
	let waitingBytes = 0;
	return {
		get length() {
			return callers.length;
		},
		add: (caller) => {
			if (callers.length >= WAITING.callers || waitingBytes + caller.bytes > WAITING.bytes) return false;
			callers.push(caller);
			waitingBytes += caller.bytes;
			return true;
		},
		take: () => {
			let rows = 0;
			let bytes = 0;
			const end = callers.findIndex((caller, index) => {
				rows += caller.request.records.length;
				bytes += caller.bytes;
				return index > 0 && (index >= BATCH.callers || rows > BATCH.rows || bytes > BATCH.bytes);
			});
			const batch = end === -1 ? callers : callers.slice(0, end);
			callers = end === -1 ? [] : callers.slice(end);
			for (const caller of batch) waitingBytes -= caller.bytes;
			return batch;
		},
	};
}
