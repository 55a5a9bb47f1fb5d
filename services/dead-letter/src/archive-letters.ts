import { type IncomingMessage, MAX_REDELIVERIES, originOf } from '@tidings/broker';
import { type ArchivedPoison, archivePoisons, type Db, type PoisonMessage, readPoison, troubleOf } from '@tidings/db';
import { type Channel, monotonic } from '@tidings/model';
import { createPoll, type Part } from '@tidings/runtime';
import { channelLabel, type Logger, type Metrics } from '@tidings/telemetry';

/** Archives what is given to it, in batches. As a part it finishes what it holds before it stops. */
export type Archiver = Part & {
	/** Archives a message of a dead-letter topic, and acks it after the commit. `channel`: what the topic delivered; null when that is unknown. */
	take(message: IncomingMessage, channel: Channel | null): void;
};

/** What archiving needs. */
export type ArchiverOptions = {
	readonly db: Pick<Db, 'pool'>;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Told when archiving does not work, so that nothing more is taken, and when it works again. */
	readonly onStuck: (stuck: boolean) => void;
};

type Held = PoisonMessage & Pick<IncomingMessage, 'ack' | 'nack'> & { readonly channel: Channel | null };

/** Letters of one statement at most. */
const BATCH = 200;
/** Letters of a batch that are named in the log at most; the table has them all. */
const NAMED = 10;
/** What cannot be archived though its neighbours can comes again after this time. */
const NACK_MS = 30_000;
/** In a flood statements begin this far apart, so that each carries many; the first after a quiet moment goes at once. */
const GATHER_MS = 20;
/** What is held is tried again with this backoff, in milliseconds. */
const BACKOFF = { first: 200, most: 5_000 };
/** Messages wake the archiver; this is how soon it looks when nobody woke it. */
const IDLE_MS = 60_000;

/**
 * Makes an archiver. While the database is away, messages stay un-acked and are tried again until it answers. A message that is refused for itself leaves the
 * others alone: it comes again later. Either is an error line.
 */
export function createArchiver({ db, log, metrics, onStuck }: ArchiverOptions): Archiver {
	let held: Held[] = [];
	let failure: string | null = null;
	let nextAt = Number.NEGATIVE_INFINITY;

	const archiveHeld = async (): Promise<void> => {
		while (held.length > 0) {
			await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextAt - monotonic())));
			nextAt = monotonic() + GATHER_MS;
			const batch = held.slice(0, BATCH);
			const refused = await archiveApart(db, batch, (letters) => report(letters, { log, metrics }));
			if (refused.length > 0) postpone(refused, log);
			held = held.slice(batch.length);
		}
	};
	const attempt = async (): Promise<void> => {
		try {
			await archiveHeld();
			if (failure !== null) onStuck(false);
			failure = null;
		} catch (error) {
			if (failure === null)
				log.error({ held: held.length, err: error }, 'poison cannot be archived: it is held, and tried again until it can');
			failure = error instanceof Error ? error.message : String(error);
			onStuck(true);
			throw error;
		}
	};
	const poll = createPoll({ name: 'dead-letter-archive', intervalMs: IDLE_MS, log, backoff: BACKOFF, act: attempt });
	return {
		name: poll.name,
		start: poll.start,
		stop: async () => {
			await poll.stop();
			// While the database is away they go back to the broker, un-acked.
			if (failure === null) await attempt().catch(() => undefined);
		},
		health: async () => {
			if (failure !== null) throw new Error(`poison cannot be archived: ${failure}`);
		},
		take: (message, channel) => {
			const { ack, nack } = message;
			held.push({ ...readPoison({ ...addressOf(message), payload: message.payload }), channel, ack, nack });
			poll.wake();
		},
	};
}

/** What may stand in the index on topic and id, and in a log. */
const PLAIN = /^[\x20-\x7e]{1,255}$/;

/** Where a message comes from and why it is here. An origin that nobody could have written truly counts as none. */
function addressOf(message: IncomingMessage): { topic: string; messageId: string; reason: string } {
	const origin = originOf(message);
	if (origin !== null && PLAIN.test(origin.topic) && PLAIN.test(origin.messageId))
		return { ...origin, reason: `the broker gave up after ${MAX_REDELIVERIES + 1} deliveries` };
	return { topic: message.topic, messageId: message.id, reason: 'it stood in the dead-letter topic and does not say where it came from' };
}

/** Archives and acks a batch, and returns what is refused for itself. Throws when the database cannot be used now; then nothing more of the batch is tried. */
async function archiveApart(db: Pick<Db, 'pool'>, batch: readonly Held[], report: (letters: ArchivedPoison[]) => void): Promise<Held[]> {
	try {
		// failpoint: archiving
		report(await archivePoisons(db.pool, batch));
		for (const one of batch) one.ack();
		return [];
	} catch (error) {
		if (['away', 'retryable'].includes(troubleOf(error))) throw error;
		if (batch.length === 1) return batch.map((one) => ({ ...one, reason: error instanceof Error ? error.message : String(error) }));
	}
	const middle = Math.ceil(batch.length / 2);
	const first = await archiveApart(db, batch.slice(0, middle), report);
	return [...first, ...(await archiveApart(db, batch.slice(middle), report))];
}

function postpone(refused: readonly Held[], log: Logger): void {
	const named = refused.slice(0, NAMED).map(({ topic, messageId, reason }) => ({ topic, messageId, reason }));
	log.error({ letters: refused.length, named }, 'poison could not be archived and comes back');
	for (const one of refused) one.nack(NACK_MS);
}

function report(letters: readonly ArchivedPoison[], { log, metrics }: Pick<ArchiverOptions, 'log' | 'metrics'>): void {
	if (letters.length === 0) return;
	for (const { channel } of letters)
		if (channel !== null) metrics.deadLettersTotal.inc({ source: 'BROKER_POISON', channel: channelLabel(channel) });
	const named = letters
		.slice(0, NAMED)
		.map(({ id, tenantId, recordId, topic, messageId }) => ({ id, tenantId, recordId, topic, messageId }));
	log.error({ letters: letters.length, named }, 'poison was archived as dead letters');
}
