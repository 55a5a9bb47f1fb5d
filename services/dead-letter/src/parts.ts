import type { Broker } from '@tidings/broker';
import { type Db, listenForReplays, nextReplay } from '@tidings/db';
import { NO_CAPS } from '@tidings/model';
import { createPoll, type Part, type Poll } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { createArchiver } from './archive-letters.js';
import { createConsumer } from './consume-topics.js';
import { measureOpen } from './measure-open.js';
import { pruneOld } from './prune-old.js';
import { type AlertOptions, sendAlerts } from './send-alerts.js';
import { workReplays } from './work-replays.js';

/** What the dead-letter service is made of. */
export type DeadLetterOptions = {
	readonly db: Db;
	/** For the connection that listens. */
	readonly databaseUrl: string;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Whom to tell of new dead letters; default: nobody. */
	readonly recipients?: readonly string[];
	/** When they are told. */
	readonly alerts?: Pick<AlertOptions, 'settleSeconds' | 'everySeconds'> & { readonly pollMs?: number };
	/** The monthly caps of whom nothing is set for: what the mails to operators count in. Default: none. */
	readonly caps?: AlertOptions['caps'];
	/** How soon a new replay is found when its notification got lost, in milliseconds; default 15,000. */
	readonly replayPollMs?: number;
};

const MEASURE_MS = 15_000;
const ALERT_MS = 15_000;
const REPLAY_MS = 15_000;
/** After a failure, such as a database that is away, in milliseconds: a replay is soon on its way again. */
const REPLAY_BACKOFF = { first: 100, most: 2_000 };
const PRUNE_MS = 3_600_000;

/** The parts of the dead-letter service: it archives what the broker gave up on, works off replays, tells operators, counts what waits for a person, and deletes what is old. Any number may run at once. */
export function deadLetterParts(options: DeadLetterOptions): Part[] {
	const { db, broker, log, metrics, recipients = [], caps = NO_CAPS, alerts: { pollMs = ALERT_MS, ...times } = {} } = options;
	const consumer = createConsumer({ broker, log, metrics, onMessage: (message, channel) => archiver.take(message, channel) });
	const archiver = createArchiver({ db, log, metrics, onStuck: consumer.pause });
	const gauges = createPoll({ name: 'dead-letter-gauges', intervalMs: MEASURE_MS, log, act: () => measureOpen({ db, metrics }) });
	const replays = replayPart(options);
	const listener = listenForReplays({ url: options.databaseUrl, log, wake: replays.wake });
	const pruner = createPoll({ name: 'dead-letter-pruner', intervalMs: PRUNE_MS, log, act: (stopping) => pruneOld({ db, log }, stopping) });
	const alerts = createPoll({
		name: 'dead-letter-alerts',
		intervalMs: pollMs,
		log,
		// An alert that cannot be told is told of at once.
		failureLevel: 'error',
		act: () => sendAlerts({ db, log, metrics, recipients, caps, ...times }),
	});
	// The archiver stops before the consumer: what it finishes can still be acked.
	return [consumer, archiver, gauges, replays, listener, alerts, pruner];
}

/** A replay that another service has seems to have its turn already: it is not asked for again at once. */
const LEAST_MS = 100;

/** Works off replays when it is woken, when the next one has its turn, and now and then as a net. */
function replayPart({ db, log, metrics, replayPollMs = REPLAY_MS }: DeadLetterOptions): Poll {
	let timer: NodeJS.Timeout | undefined;
	const poll = createPoll({
		name: 'dead-letter-replays',
		intervalMs: replayPollMs,
		log,
		backoff: REPLAY_BACKOFF,
		act: async (stopping) => {
			clearTimeout(timer);
			await workReplays({ db, log, metrics }, stopping);
			const ms = await nextReplay(db.pool);
			if (ms !== null && ms < replayPollMs && !stopping.aborted) timer = setTimeout(poll.wake, Math.max(LEAST_MS, ms));
		},
	});
	return {
		...poll,
		stop: async () => {
			await poll.stop();
			clearTimeout(timer);
		},
	};
}
