import type { Broker } from '@tidings/broker';
import { type Db, listenForEntries, nextTurn } from '@tidings/db';
import { ROUTES } from '@tidings/model';
import { createPoll, type Part, type Poll } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { ERASE_GRACE_SECONDS, eraseTenants } from './erase-tenants.js';
import { keepTopics, type TopicKeeper } from './keep-topics.js';
import { measure } from './measure.js';
import type { PublishContext } from './publish-entries.js';
import { createRelay, type RelayOptions } from './relay-outbox.js';
import { reopenLost } from './reopen-lost.js';
import { sweep } from './sweep.js';
import { createWarnOfRoute } from './warn-of-route.js';

/** What a publisher is made of. Times are in the unit of their name. */
export type PublisherOptions = {
	readonly db: Db;
	/** For the connection that listens. */
	readonly databaseUrl: string;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly pollMs: number;
	readonly sweepSeconds: number;
	readonly healSeconds: number;
	/** How old a tenant's deletion must be before anything is erased; default 60. */
	readonly eraseGraceSeconds?: number;
	readonly relay: RelayOptions;
	/** The broker's kind as traces show it; default `pulsar`. */
	readonly messagingSystem?: string;
};

/** Defaults: a lease of 30 s, a window of 200, and urgent before normal before bulk with a share for each. */
export const RELAY_DEFAULTS: RelayOptions = { shares: { urgent: 300, normal: 100, bulk: 50 }, window: 200, leaseSeconds: 30, inFlight: 3 };

/** After a failure, such as a database that is away: nobody waits longer for it than for a sender, once it is back. */
const BACKOFF = { first: 100, most: 5_000 };

/** The parts of the outbox publisher: it alone publishes, and it sweeps, heals, expires and erases. Any number may run at once. */
export function outboxPublisherParts(options: PublisherOptions): Part[] {
	const { db, broker, log, metrics } = options;
	const topics = keepTopics({ broker, db, log, onTurn: () => relay.wake() });
	const context: PublishContext = {
		db,
		broker,
		log,
		metrics,
		healSeconds: options.healSeconds,
		messagingSystem: options.messagingSystem ?? 'pulsar',
		warnOfRoute: createWarnOfRoute(log),
		topics,
		confirmedAt: new Map(),
	};
	const relay = relayPart(options, context, topics);
	const sweeper = createPoll({
		name: 'sweeper',
		intervalMs: options.sweepSeconds * 1000,
		log,
		backoff: BACKOFF,
		act: (stopping) => sweep({ db, log, metrics }, stopping),
	});
	const eraser = createPoll({
		name: 'eraser',
		intervalMs: options.sweepSeconds * 1000,
		log,
		backoff: BACKOFF,
		act: (stopping) => eraseTenants({ db, log, graceSeconds: options.eraseGraceSeconds ?? ERASE_GRACE_SECONDS }, stopping),
	});
	const gauges = createPoll({ name: 'gauges', intervalMs: 15_000, log, act: () => measure({ db, broker, metrics }) });
	const listener = listenForEntries({ url: options.databaseUrl, log, wake: relay.wake });
	const lost = lostPart(options, relay.wake);
	return [topics, lost, relay, listener, sweeper, eraser, gauges];
}

/** A flow that another publisher holds seems to have its turn already: it is not asked for again at once. */
const LEAST_MS = 5;

/** Relays when it is woken, when the next flow has its turn, and every `pollMs` as a net. */
function relayPart({ db, broker, log, metrics, pollMs, relay }: PublisherOptions, context: PublishContext, topics: TopicKeeper): Poll {
	let timer: NodeJS.Timeout | undefined;
	const flights = createRelay(context, relay, () => poll.wake());
	const poll = createPoll({
		name: 'outbox-relay',
		intervalMs: pollMs,
		log,
		backoff: BACKOFF,
		act: async (stopping) => {
			clearTimeout(timer);
			metrics.brokerConnected.set(broker.connected() ? 1 : 0);
			if (!topics.tried()) return;
			if (!broker.connected()) {
				if ((await nextTurn(db.pool)) === 0) for (const { route } of ROUTES) context.warnOfRoute(route, 'the broker is away');
				return;
			}
			// A flow of a lane without room seems to have its turn, too; the room wakes.
			if (await flights.run(stopping)) return;
			const ms = await nextTurn(db.pool);
			if (ms !== null && ms < pollMs && !stopping.aborted) timer = setTimeout(poll.wake, Math.max(LEAST_MS, ms));
		},
	});
	broker.on('back', poll.wake);
	return {
		...poll,
		stop: async () => {
			await poll.stop();
			await flights.landed();
			clearTimeout(timer);
		},
	};
}

/** Reopens what is PUBLISHED whenever the broker said that it lost everything; a failure is repeated by the poll's own backoff. */
function lostPart({ db, broker, log }: PublisherOptions, then: () => void): Part {
	let lost = false;
	const poll = createPoll({
		name: 'reopen-lost',
		intervalMs: 3_600_000,
		log,
		backoff: BACKOFF,
		act: async () => {
			if (!lost) return;
			await reopenLost(db, log);
			lost = false;
			then();
		},
	});
	broker.on('lost', () => {
		lost = true;
		poll.wake();
	});
	return poll;
}
