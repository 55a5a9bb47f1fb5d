import { cancelWaiting, type Db, eraseBatch, listDeletingTenants } from '@tidings/db';
import type { Logger } from '@tidings/telemetry';

/** What erasing needs. */
export type EraseContext = {
	readonly db: Db;
	readonly log: Logger;
	/** Seconds that a deletion must be old before anything is erased. */
	readonly graceSeconds: number;
};

/** By then every node has heard of the deletion, and what was accepted before is committed: a credential is remembered for 15 s, and a statement takes at most 30 s. */
export const ERASE_GRACE_SECONDS = 60;

const PAGE = 500;

/**
 * Goes on with the tenants that are being deleted: cancels what waits where the operator wanted that, and erases those of which nothing waits any more, in batches.
 * Any number of publishers may do so at once: one erases a tenant at a time. A tenant that fails does not keep the others; the first failure is thrown at the end.
 */
export async function eraseTenants({ db, log, graceSeconds }: EraseContext, stopping: AbortSignal): Promise<void> {
	const failures: unknown[] = [];
	for (const { id, queued } of await listDeletingTenants(db.pool)) {
		try {
			if (queued === 'cancel') await cancelAll({ db, log }, id, stopping);
			let state = 'more';
			while (state === 'more' && !stopping.aborted) state = await eraseBatch(db.pool, id, graceSeconds);
			if (state === 'done') log.info({ tenantId: id }, 'a tenant is erased');
		} catch (error) {
			failures.push(error);
		}
	}
	if (failures.length > 0) throw failures[0];
}

async function cancelAll({ db, log }: Pick<EraseContext, 'db' | 'log'>, tenantId: string, stopping: AbortSignal): Promise<void> {
	let all = 0;
	let cancelled = 1;
	while (cancelled > 0 && !stopping.aborted) {
		cancelled = await cancelWaiting(db.pool, tenantId, PAGE);
		all += cancelled;
	}
	if (all > 0) log.info({ tenantId, records: all }, 'what waited is cancelled: its tenant is being deleted');
}
