import { monotonic, random } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import type { Part } from './part.js';
import { reasonOf } from './reason-of.js';

/** A loop that can be woken. As a part: `quiet` begins no further run, `stop` awaits the run under way. */
export type Poll = Part & {
	/** Run now, or once more right after the run under way. Any number of calls until that run begins are one. */
	wake(): void;
};

/** What a poll does and how often. */
export type PollOptions = {
	readonly name: string;
	/** Milliseconds from the end of a run to the next one when nobody wakes it. */
	readonly intervalMs: number;
	/** One run. `stopping` is aborted when the poll becomes quiet, so that a long run can end early. Rejecting is survived. */
	readonly act: (stopping: AbortSignal) => Promise<void>;
	readonly log: Logger;
	/** How bad a failure is; default `warn`. */
	readonly failureLevel?: 'warn' | 'error';
	/** Pause after the first failure in a row, doubled with each further one up to `most` milliseconds; default 200 and 30,000. Varied by ±25 %. */
	readonly backoff?: { readonly first: number; readonly most: number };
};

/** An outage of hours leaves evidence, but no flood. */
const TELL_AGAIN_MS = 5 * 60_000;

/**
 * Makes a poll. The first run begins with `start`; runs never overlap. After a failing run it pauses for the backoff, which no wake-up cuts short,
 * and logs a line, for one reason at most every five minutes; one more when it works again.
 */
export function createPoll(options: PollOptions): Poll {
	const stopping = new AbortController();
	let woken = false;
	let failures = 0;
	const teller = createTeller(options);
	let interrupt: (() => void) | null = null;
	let running: Promise<void> = Promise.resolve();

	const run = async (): Promise<void> => {
		woken = false;
		try {
			await options.act(stopping.signal);
			if (failures > 0) options.log.info({ poll: options.name, failures }, 'poll works again');
			failures = 0;
			teller.forget();
		} catch (error) {
			failures += 1;
			teller.tell(error, failures);
		}
	};
	/** Always lets the event loop turn once, also when it is woken already. */
	const pause = (): Promise<void> =>
		new Promise((resolve) => {
			const wakeable = failures === 0;
			if (wakeable && woken) {
				setImmediate(resolve);
				return;
			}
			const done = (): void => {
				clearTimeout(timer);
				interrupt = null;
				resolve();
			};
			const timer = setTimeout(done, wakeable ? options.intervalMs : backoffMs(failures, options.backoff));
			interrupt = () => (wakeable || stopping.signal.aborted) && done();
		});
	const loop = async (): Promise<void> => {
		while (!stopping.signal.aborted) {
			await run();
			if (!stopping.signal.aborted) await pause();
		}
	};
	const quiet = (): void => {
		stopping.abort();
		interrupt?.();
	};
	return {
		name: options.name,
		start: async () => {
			running = loop();
		},
		wake: () => {
			woken = true;
			interrupt?.();
		},
		quiet,
		stop: async () => {
			quiet();
			await running;
		},
	};
}

/** An outage speaks in a handful of ways, which may take turns. */
const REASONS = 20;

/** Tells of failures, of the same one again only after a while. */
function createTeller({ name, log, failureLevel = 'warn' }: PollOptions): { tell(error: unknown, failures: number): void; forget(): void } {
	const saidAt = new Map<string, number>();
	return {
		tell: (error, failures) => {
			const reason = reasonOf(error);
			const last = saidAt.get(reason);
			if (last !== undefined && monotonic() - last < TELL_AGAIN_MS) return;
			if (saidAt.size >= REASONS) saidAt.clear();
			saidAt.set(reason, monotonic());
			log[failureLevel]({ poll: name, failures, err: error }, 'poll failed and will be repeated');
		},
		forget: () => saidAt.clear(),
	};
}

function backoffMs(failures: number, backoff: PollOptions['backoff'] = { first: 200, most: 30_000 }): number {
	return Math.min(backoff.most, backoff.first * 2 ** (failures - 1)) * (0.75 + random() / 2);
}
