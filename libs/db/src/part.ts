import type { Db } from './client.js';
import { assertSchema } from './migrate.js';

/** The database as a part of a service: it refuses a schema that does not fit, answers for readiness, and closes last. */
export function dbPart(db: Db): { name: string; start(): Promise<void>; stop(): Promise<void>; health(): Promise<void> } {
	return { name: 'postgres', start: () => assertSchema(db.pool), stop: db.close, health: db.ping };
}
