import type { Broker } from '@tidings/broker';
import { type Db, findPausedRoutes, type GateMeasure, measureGates, measureOutbox, type OutboxMeasures } from '@tidings/db';
import { type Lane, ROUTES, type Route, topicsOf } from '@tidings/model';
import type { Metrics } from '@tidings/telemetry';

/** Sets the gauges that are read from the tables and from the broker. */
export async function measure({ db, broker, metrics }: { db: Db; broker: Broker; metrics: Metrics }): Promise<void> {
	const [outbox, gates, paused] = await Promise.all([measureOutbox(db.pool), measureGates(db.pool), findPausedRoutes(db.pool)]);
	showTables(metrics, outbox);
	showGates(metrics, gates);
	for (const { route } of ROUTES) metrics.routePaused.set({ route }, paused.includes(route) ? 1 : 0);
	const places = ROUTES.flatMap(({ route }) => topicsOf(route).map((place) => ({ route, ...place })));
	// Side by side: a broker that falls silent keeps the service from stopping for as long as one answer may take, and no longer.
	await Promise.all(
		places.map(async ({ route, lane, topic, subscription }) => {
			// NaN: nobody knows, for the broker is away, has no such topic, or has no admin API that could tell.
			const backlog = broker.connected() ? await broker.backlog(topic, subscription).catch(() => Number.NaN) : Number.NaN;
			metrics.brokerBacklogMessages.set({ route, lane }, backlog);
		}),
	);
}

function showGates(metrics: Metrics, gates: readonly GateMeasure[]): void {
	metrics.zero('gates');
	for (const { state, reason, count } of gates) metrics.gates.set({ channel: 'mail', provider: 'smtp', state, reason }, count);
}

const GAUGES = ['records', 'queueOldestAgeSeconds', 'outboxEntries', 'outboxOldestDueAgeSeconds'] as const;

function showTables(metrics: Metrics, { records, entries, queues }: OutboxMeasures): void {
	for (const gauge of GAUGES) metrics.zero(gauge);
	for (const row of records) metrics.records.set({ channel: 'mail', status: row.status as 'PENDING' }, row.count);
	for (const row of entries) {
		if (row.status === 'PUBLISHED') continue;
		metrics.outboxEntries.set({ route: row.route as 'mail-send', status: row.status as 'NEW' }, row.count);
		if (row.status === 'NEW') metrics.outboxOldestDueAgeSeconds.set({ route: row.route as 'mail-send' }, row.oldestDueSeconds);
	}
	for (const row of queues) metrics.queueOldestAgeSeconds.set({ route: row.route as Route, lane: row.lane as Lane }, row.oldestSeconds);
}
