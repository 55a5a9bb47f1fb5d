import { monotonic } from '@tidings/model';
import { backoffMs } from './backoff.js';
import type { BrokerEvent } from './broker.js';
import { textOf } from './error-text.js';
import type { Report } from './report.js';
import { makeSieve } from './sieve.js';

/** What the connections say: at least one stands, none of them does, or there is none to ask. */
export type Sight = 'up' | 'down' | 'none';

/** What presence needs. */
export type PresenceOptions = {
	/** Asks the broker something harmless; rejects when it does not answer or lets nobody in. Ends by itself in bounded time. */
	probe(): Promise<void>;
	/** Looks at the connections, every second while the broker is there. */
	look(): Sight;
	readonly report: Report;
};

const LOOK_MS = 1_000;
/** How often a broker is asked to which nothing is connected. */
const IDLE_PROBE_MS = 15_000;
/** Why the broker is away is told at once, and the same reason this seldom. */
const REPEAT_MS = 300_000;
/** A broker that is lost sooner after it was found is asked again later each time: what asks it and what uses it may not get the same answers. */
const STEADY_MS = 5_000;

type State = { readonly kind: 'opening' | 'connected' | 'closed' } | { readonly kind: 'away'; readonly reason: string };

/** Whether the broker is there. It asks by itself: at the start, and with growing pauses while the broker is away. */
export class Presence {
	readonly #options: PresenceOptions;
	readonly #listeners = new Map<BrokerEvent, Set<() => void>>();
	#state: State = { kind: 'opening' };
	#sight: Sight = 'none';
	#failures = 0;
	#answeredAt = 0;
	/** When it was found for the last time after it had not been there. */
	#foundAt = 0;
	readonly #isNews = makeSieve(REPEAT_MS);
	#timer: NodeJS.Timeout | undefined;
	#asking: Promise<void> | undefined;

	/** Asks at once. */
	constructor(options: PresenceOptions) {
		this.#options = options;
		void this.check();
	}

	/** Whether the broker has answered and nothing speaks against it since. */
	connected(): boolean {
		return this.#state.kind === 'connected';
	}

	/** Why the broker is known to be away; undefined when it is there or has not been asked to the end yet. */
	away(): string | undefined {
		return this.#state.kind === 'away' ? this.#state.reason : undefined;
	}

	/** Resolves when it is known for the first time whether the broker is there. Never rejects. */
	async answered(): Promise<void> {
		if (this.#state.kind === 'opening') await this.check();
	}

	/** Somebody found that the broker does not answer what it was asked at `askedAt` of the monotonic clock; default: just now. */
	lost(reason: string, askedAt = monotonic()): void {
		// While it is away it is being asked already; and what was asked before it was found says nothing about now.
		if (this.#state.kind !== 'away' && askedAt >= this.#foundAt) this.#lose(reason);
	}

	/** Asks now. Never rejects. */
	check(): Promise<void> {
		if (this.#state.kind === 'closed') return Promise.resolve();
		clearTimeout(this.#timer);
		this.#asking ??= this.#ask();
		return this.#asking;
	}

	/** As the port says. */
	on(event: BrokerEvent, listener: () => void): void {
		const listeners = this.#listeners.get(event) ?? new Set();
		this.#listeners.set(event, listeners.add(listener));
	}

	/** Ends asking; it is not connected any more and tells nobody. */
	close(): void {
		this.#state = { kind: 'closed' };
		clearTimeout(this.#timer);
		this.#listeners.clear();
	}

	async #ask(): Promise<void> {
		const failure = await this.#options.probe().then(
			() => undefined,
			(error) => textOf(error),
		);
		this.#asking = undefined;
		if (failure === undefined) this.#find();
		else this.#lose(failure);
	}

	#find(): void {
		if (this.#state.kind === 'closed') return;
		const before = this.#state.kind;
		this.#state = { kind: 'connected' };
		this.#answeredAt = monotonic();
		if (before !== 'connected') this.#foundAt = this.#answeredAt;
		this.#next(() => this.#watch(), LOOK_MS);
		if (before === 'away') this.#tell('back');
	}

	#lose(reason: string): void {
		if (this.#state.kind === 'closed') return;
		const before = this.#state.kind;
		this.#state = { kind: 'away', reason };
		if (before === 'connected' && monotonic() - this.#foundAt >= STEADY_MS) this.#failures = 0;
		this.#failures++;
		if (this.#asking === undefined) this.#next(() => void this.check(), backoffMs(this.#failures));
		if (this.#isNews(reason)) this.#options.report(new Error(reason), 'the broker is away', 'warn');
		if (before !== 'away') this.#tell('away');
	}

	#watch(): void {
		const before = this.#sight;
		this.#sight = this.#options.look();
		if (this.#sight === 'up') this.#answeredAt = monotonic();
		// Told once: a broker that then answers is there, and what stays without connection has another reason.
		if (this.#sight === 'down' && before !== 'down') this.#lose('every connection to it is gone');
		else if (monotonic() - this.#answeredAt >= IDLE_PROBE_MS) void this.check();
		else this.#next(() => this.#watch(), LOOK_MS);
	}

	#next(act: () => void, ms: number): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(act, ms);
	}

	#tell(event: BrokerEvent): void {
		for (const listener of this.#listeners.get(event) ?? []) {
			try {
				listener();
			} catch (error) {
				this.#options.report(error, 'a listener of the broker threw');
			}
		}
	}
}
