import { type Db, findRetryTypes } from '@tidings/db';
import type { RetryTypes } from '@tidings/model';
import { createMemory } from '@tidings/runtime';

/** The retry policies that tenants have of their own, remembered for 15 s: one look-up of a tenant whose mail fails serves all its failures of that time. */
export function createRetryTypesOf(db: Db): (tenantId: string) => Promise<RetryTypes> {
	const memory = createMemory((tenantId) => findRetryTypes(db.pool, tenantId));
	return async (tenantId) => (await memory.get(tenantId)) ?? {};
}
