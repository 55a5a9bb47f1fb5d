import type pg from 'pg';
import { beginErasing } from './statements/begin-erasing.js';
import { eraseRecords } from './statements/erase-records.js';
import { eraseRows, TENANT_TABLES } from './statements/erase-rows.js';
import { finishErasing } from './statements/finish-erasing.js';
import { hasRecords } from './statements/has-records.js';
import { inTransaction } from './tx.js';

/** How far the erasing of a tenant is. `waiting`: it cannot go on now, because something still waits or is sent, or because another publisher is at it. */
export type Erasing = 'waiting' | 'more' | 'done';

/** A record may have attachments of 25 MB. */
const RECORDS = 200;
const ROWS = 2_000;

/**
 * Erases one batch of a tenant that is being deleted, once nothing of it waits or is being sent and its deletion is `graceSeconds` old; with the last one it is DELETED.
 * One transaction: a crash between two loses nothing of the work, and whoever comes next goes on.
 */
export async function eraseBatch(pool: pg.Pool, tenantId: string, graceSeconds: number): Promise<Erasing> {
	return await inTransaction(pool, async (client): Promise<Erasing> => {
		if (!(await beginErasing(client, tenantId, graceSeconds))) return 'waiting';
		if ((await eraseRecords(client, tenantId, RECORDS)) > 0) return 'more';
		// A person had one sent again: it is sent first, and needs its server for that.
		if (await hasRecords(client, tenantId)) return 'waiting';
		for (const table of TENANT_TABLES) if ((await eraseRows(client, tenantId, { table, limit: ROWS })) > 0) return 'more';
		return (await finishErasing(client, tenantId)) ? 'done' : 'waiting';
	});
}
