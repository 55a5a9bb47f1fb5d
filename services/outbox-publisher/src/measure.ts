import { type Db, measureOutbox } from '@tidings/db';
import type { Metrics } from '@tidings/telemetry';

/** Sets the gauges that are read from the tables. */
export async function measure(db: Db, metrics: Metrics): Promise<void> {
	const { records, entries, letters } = await measureOutbox(db.pool);
	for (const gauge of ['records', 'outboxEntries', 'outboxOldestDueAgeSeconds', 'deadLettersOpen', 'deadLettersOldestAgeSeconds'] as const)
		metrics.zero(gauge);
	for (const row of records) metrics.records.set({ channel: 'mail', status: row.status as 'PENDING' }, row.count);
	for (const row of entries) {
		if (row.status === 'PUBLISHED') continue;
		metrics.outboxEntries.set({ route: row.route as 'mail-send', status: row.status as 'NEW' }, row.count);
		if (row.status === 'NEW') metrics.outboxOldestDueAgeSeconds.set({ route: row.route as 'mail-send' }, row.oldestDueSeconds);
	}
	for (const row of letters) {
		metrics.deadLettersOpen.set({ source: row.source as 'EXPIRED' }, row.count);
		metrics.deadLettersOldestAgeSeconds.set({ source: row.source as 'EXPIRED' }, row.oldestSeconds);
	}
	const pool = db.connections();
	for (const state of ['idle', 'busy', 'waiting'] as const) metrics.dbPoolConnections.set({ state }, pool[state]);
}
