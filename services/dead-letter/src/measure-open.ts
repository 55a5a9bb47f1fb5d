import { countRunning, type Db, measureLetters } from '@tidings/db';
import type { Metrics } from '@tidings/telemetry';

/** Sets the gauges of open dead letters and of running replays by what the tables say; a source without any goes to 0. */
export async function measureOpen({ db, metrics }: { readonly db: Pick<Db, 'pool'>; readonly metrics: Metrics }): Promise<void> {
	const measures = await measureLetters(db.pool);
	metrics.zero('deadLettersOpen');
	metrics.zero('deadLettersOldestAgeSeconds');
	for (const { source, count, oldestSeconds } of measures) {
		metrics.deadLettersOpen.set({ source }, count);
		metrics.deadLettersOldestAgeSeconds.set({ source }, oldestSeconds);
	}
	metrics.deadLetterReplaysRunning.set(await countRunning(db.pool));
}
