import { type Db, pruneReplays } from '@tidings/db';
import { now } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';

/** A replay that has ended can be looked at for so many days. */
export const REPLAY_DAYS = 30;

const BATCH = 200;

/** Deletes replays that ended more than `REPLAY_DAYS` ago, in batches; ends early when `stopping` is aborted. */
export async function pruneOld({ db, log }: { readonly db: Pick<Db, 'pool'>; readonly log: Logger }, stopping: AbortSignal): Promise<void> {
	const endedBefore = new Date(now().getTime() - REPLAY_DAYS * 86_400_000);
	let pruned = 0;
	for (let last = BATCH; last === BATCH && !stopping.aborted; pruned += last)
		last = await pruneReplays(db.pool, { endedBefore, limit: BATCH });
	if (pruned > 0) log.info({ pruned, days: REPLAY_DAYS }, 'replays of dead letters that ended long ago were deleted');
}
