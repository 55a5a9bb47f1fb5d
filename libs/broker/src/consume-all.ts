import { backoffMs } from './backoff.js';
import type { Broker, Place, SubscribeOptions, Subscription } from './broker.js';
import { textOf } from './error-text.js';
import { makeSieve } from './sieve.js';

/** What to consume, and whom to tell. */
export type ConsumeAllOptions = {
	readonly broker: Broker;
	/** Shown in log lines, and the name of the consumer as a part of a service. */
	readonly name: string;
	/** Each is consumed once. */
	readonly wanted: readonly SubscribeOptions[];
	/** What is made besides them before anything is taken; default: nothing. */
	readonly besides?: readonly Place[];
	/** Gets a line when an attempt fails, for one reason at most every five minutes, and one when it works again. */
	readonly log: ConsumeLog;
	/** Told whether the broker can be reached: at the start, after each attempt, and at each change. */
	onConnected(connected: boolean): void;
};

/** A `pino` logger fits. */
export type ConsumeLog = Record<'info' | 'warn', (fields: object, text: string) => void>;

/** The consumer of many places, as a part of a service. A broker that is away fails no start. */
export type Consumer = {
	readonly name: string;
	start(): Promise<void>;
	/** Takes nothing for a while, or takes again. */
	pause(paused: boolean): void;
	/** Takes nothing any more; what is held can still be acked. */
	quiet(): void;
	/** Un-acked messages go back. An attempt may hang on a broker that is away: nobody waits for that. */
	stop(): Promise<void>;
	/** Rejects until every place is consumed. */
	health(): Promise<void>;
};

/** The longest pause between two attempts. */
const MOST_PAUSE_MS = 2_000;
/** An outage of hours leaves evidence, but no flood. */
const TELL_AGAIN_MS = 5 * 60_000;

/** Consumes all places, and tries until it can. Those that do not exist are made. What has begun is left alone: its driver connects it again. */
export function consumeAll({ broker, name, wanted, besides = [], log, onConnected }: ConsumeAllOptions): Consumer {
	const begun = new Map<SubscribeOptions, Subscription>();
	let [paused, quiet, ensured] = [false, false, false];

	const missing = (): SubscribeOptions[] => wanted.filter((one) => !begun.has(one));
	const ensure = async (): Promise<void> => {
		if (!ensured) await broker.ensureTopics([...wanted, ...besides]);
		ensured = true;
	};
	const subscribe = async (one: SubscribeOptions): Promise<void> => {
		const subscription = await broker.subscribe(one);
		// The stop did not wait for it.
		if (quiet) return await subscription.close();
		if (paused) subscription.pause();
		begun.set(one, subscription);
	};
	const attempt = async (): Promise<void> => {
		const made = await Promise.allSettled([ensure()]);
		// Also when they could not be made: who may not make topics may consume those that are there.
		const subscribed = await Promise.allSettled(missing().map(subscribe));
		// A driver that had not asked its broker yet has now, and tells of a change only.
		onConnected(broker.connected());
		for (const end of [...made, ...subscribed]) if (end.status === 'rejected') throw end.reason;
	};
	const attempts = makeAttempts(attempt, { name, log });
	const apply = (): void => {
		for (const subscription of begun.values()) paused || quiet ? subscription.pause() : subscription.resume();
	};
	const becomeQuiet = (): void => {
		quiet = true;
		attempts.end();
		apply();
	};
	return {
		name,
		start: async () => {
			onConnected(broker.connected());
			broker.on('away', () => onConnected(false));
			broker.on('back', () => {
				onConnected(true);
				ensured = false;
				attempts.wake();
			});
			attempts.wake();
		},
		pause: (wish) => {
			paused = wish;
			apply();
		},
		quiet: becomeQuiet,
		stop: async () => {
			becomeQuiet();
			await Promise.all([...begun.values()].map((subscription) => subscription.close()));
		},
		health: async () => {
			const topics = missing().map(({ topic }) => topic);
			if (topics.length > 0) throw new Error(`not consuming yet: ${topics.join(', ')}`);
		},
	};
}

/** Attempts never overlap. One that fails is repeated after a pause that no wake-up cuts short, until it works. */
function makeAttempts(attempt: () => Promise<void>, { name, log }: Pick<ConsumeAllOptions, 'name' | 'log'>) {
	let [underWay, woken, ended, failures] = [false, false, false, 0];
	let isNews = makeSieve(TELL_AGAIN_MS);
	let pause: NodeJS.Timeout | undefined;

	const run = async (): Promise<void> => {
		[underWay, woken, pause] = [true, false, undefined];
		try {
			await attempt();
			if (failures > 0) log.info({ poll: name, failures }, 'poll works again');
			failures = 0;
			isNews = makeSieve(TELL_AGAIN_MS);
		} catch (error) {
			failures++;
			if (isNews(textOf(error))) log.warn({ poll: name, failures, err: error }, 'poll failed and will be repeated');
		}
		underWay = false;
		if (ended) return;
		if (failures > 0) pause = setTimeout(() => void run(), Math.min(MOST_PAUSE_MS, backoffMs(failures)));
		else if (woken) void run();
	};
	return {
		/** Attempts now, or once more after the attempt under way. */
		wake(): void {
			woken = true;
			if (!underWay && pause === undefined && !ended) void run();
		},
		end(): void {
			ended = true;
			clearTimeout(pause);
		},
	};
}
