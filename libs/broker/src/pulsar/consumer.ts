import { setTimeout as wait } from 'node:timers/promises';
import { monotonic } from '@tidings/model';
import { backoffMs } from '../backoff.js';
import type { OutgoingMessage, Place, PublishResult, SubscribeOptions, Subscription } from '../broker.js';
import { textOf } from '../error-text.js';
import type { Sight } from '../presence.js';
import type { Report } from '../report.js';
import type { ConsumerConfig, PulsarClient, PulsarMessage } from './client-types.js';
import { ConsumerLine, type LineSurroundings, NACK_MS, shut } from './consumer-line.js';
import { errorKind } from './error-kind.js';
import { within } from './within.js';

/** What a subscription needs. */
export type ConsumerSurroundings = {
	readonly client: PulsarClient;
	/** The full name of a topic. */
	fullName(topic: string): string;
	/** Makes the topic and its subscription; undefined when only the broker can, by itself. */
	readonly ensure: ((place: Place) => Promise<void>) | undefined;
	publish(message: OutgoingMessage): Promise<PublishResult>;
	/** Why the broker is known to be away; then nothing is tried. */
	away(): string | undefined;
	/** Called when the broker does not answer what it was asked at this time. */
	lost(reason: string, askedAt: number): void;
	readonly report: Report;
};

const MOST_QUEUED = 1_000;
/** The client answers within its own time-out; this is for when it does not. */
const CREATE_MS = 15_000;
const CLOSE_MS = 5_000;
/** Of failures in a row while the broker is there, each so-many-th is told: about once a minute. */
const TELL_EVERY = 6;

/** A Shared consumer of one subscription that is made anew when it breaks. */
export class PulsarSubscription implements Subscription {
	readonly #around: ConsumerSurroundings;
	readonly #options: SubscribeOptions;
	readonly #stop = new AbortController();
	/** Shown by a line that was replaced, and not settled. Settling them settles nothing any more, but until then each takes a slot. */
	readonly #orphans = new Set<PulsarMessage>();
	#line: ConsumerLine | undefined;
	#restarting: Promise<void> | undefined;
	#nextTry: AbortController | undefined;
	#closing: Promise<void> | undefined;
	#paused = false;
	/** In a row, until a connection stands. */
	#failures = 0;

	constructor(around: ConsumerSurroundings, options: SubscribeOptions) {
		this.#around = around;
		this.#options = options;
	}

	/** Makes the first consumer. Rejects when the topic does not exist or the broker cannot be reached. */
	async start(): Promise<void> {
		const { topic, subscription } = this.#options;
		const askedAt = monotonic();
		try {
			await this.#connect();
		} catch (error) {
			if (errorKind(error) === 'no-topic') throw new Error(`there is no topic ${topic}`, { cause: error });
			if (errorKind(error) === 'unreachable') this.#around.lost(textOf(error), askedAt);
			throw new Error(`subscription ${subscription} of topic ${topic} cannot be consumed: ${textOf(error)}`, { cause: error });
		}
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		if (!this.#paused) return;
		this.#paused = false;
		this.#line?.resume();
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/**
	 * Whether its connection stands. Asked every second. A consumer without one is made anew: what it held comes again anyhow, and by itself the client would
	 * wait up to a minute, or for ever when the topic is gone.
	 */
	look(): Sight {
		const line = this.#line;
		if (line === undefined) return 'none';
		if (line.connected()) {
			this.#failures = 0;
			return 'up';
		}
		this.#restart(line, new Error('its connection is gone'));
		return 'down';
	}

	/** The broker is back: tries at once what waits for its next attempt. */
	wake(): void {
		this.#nextTry?.abort();
	}

	async #connect(): Promise<void> {
		const creation = this.#around.client.subscribe(this.#config());
		const consumer = await within(creation, CREATE_MS, 'Failed to create consumer', shut);
		if (this.#stop.signal.aborted) return await shut(consumer);
		const line: ConsumerLine = new ConsumerLine(
			consumer,
			this.#lineSurroundings((reason) => this.#restart(line, reason)),
		);
		this.#line = line;
		line.receive();
	}

	#config(): ConsumerConfig {
		const { topic, subscription, slots } = this.#options;
		return {
			topic: this.#around.fullName(topic),
			subscription,
			subscriptionType: 'Shared',
			subscriptionInitialPosition: 'Earliest',
			nAckRedeliverTimeoutMs: NACK_MS,
			receiverQueueSize: Math.min(MOST_QUEUED, slots),
		};
	}

	#lineSurroundings(broken: (reason: unknown) => void): LineSurroundings {
		const { fullName, publish, report } = this.#around;
		return {
			options: this.#options,
			fullName,
			publish,
			report,
			taken: () => this.#orphans.size,
			paused: () => this.#paused,
			foreign: (message) => {
				if (this.#orphans.delete(message)) this.#line?.receive();
			},
			broken,
		};
	}

	#restart(line: ConsumerLine, reason: unknown): void {
		if (this.#line !== line) return;
		this.#line = undefined;
		for (const message of line.drop()) this.#orphans.add(message);
		void line.shut();
		this.#restarting = this.#reconnect(reason);
	}

	/** Never rejects. A topic that was deleted is made again, where that is up to us. */
	async #reconnect(reason: unknown): Promise<void> {
		const { topic, subscription } = this.#options;
		let last = reason;
		while (!this.#stop.signal.aborted) {
			await this.#pauseBetween();
			if (this.#stop.signal.aborted) return;
			if (this.#around.away() !== undefined) continue;
			const askedAt = monotonic();
			try {
				if (errorKind(last) === 'no-topic') await this.#around.ensure?.({ topic, subscription });
				return await this.#connect();
			} catch (error) {
				last = error;
				if (errorKind(error) === 'unreachable') this.#around.lost(textOf(error), askedAt);
				else if (this.#failures % TELL_EVERY === 0)
					this.#around.report(error, `subscription ${subscription} of topic ${topic} is not consumed`, 'warn');
			}
		}
	}

	async #pauseBetween(): Promise<void> {
		this.#failures++;
		this.#nextTry = new AbortController();
		const signal = AbortSignal.any([this.#stop.signal, this.#nextTry.signal]);
		await wait(backoffMs(this.#failures), undefined, { signal }).catch(() => undefined);
	}

	async #close(): Promise<void> {
		this.#stop.abort();
		const line = this.#line;
		this.#line = undefined;
		line?.drop();
		this.#orphans.clear();
		await line?.shut();
		if (this.#restarting !== undefined) await within(this.#restarting, CLOSE_MS, 'still connecting').catch(() => undefined);
	}
}
