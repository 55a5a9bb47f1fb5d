import type { Metrics } from '@tidings/telemetry';
import type { Db } from './client.js';
import { assertSchema } from './migrate.js';

const MEASURE_MS = 5_000;

/** The database as a part of a service: it refuses a schema that does not fit, answers for readiness, shows its connections, and closes last. */
export function dbPart(db: Db, metrics: Metrics): { name: string; start(): Promise<void>; stop(): Promise<void>; health(): Promise<void> } {
	let measuring: NodeJS.Timeout | undefined;
	const measure = (): void => {
		const { idle, busy, waiting } = db.connections();
		for (const [state, count] of [
			['idle', idle],
			['busy', busy],
			['waiting', waiting],
		] as const)
			metrics.dbPoolConnections.set({ state }, count);
	};
	return {
		name: 'postgres',
		start: async () => {
			await assertSchema(db.pool);
			measuring = setInterval(measure, MEASURE_MS);
		},
		stop: async () => {
			clearInterval(measuring);
			await db.close();
		},
		health: db.ping,
	};
}
