import { queryableOf, reopenEntries } from '@tidings/db';
import { wakeNow } from '../wake-now.js';
import { actOnTenant, type TenantContext } from './act-on-tenant.js';
import type { StoredTenant } from './tenant-schema.js';

/**
 * Lets a tenant go on: SUSPENDED or DELETING → ACTIVE. What waits goes out at once, also what the broker had when the tenant was halted: that is reopened in the same transaction,
 * and the publishers are woken after it. Throws a `Problem`: 404, or 409 in every other state and once erasing has begun.
 */
export async function resumeTenant(
	context: TenantContext,
	id: string,
	{ note = null }: { note?: string | null } = {},
): Promise<StoredTenant> {
	let flows: readonly string[] = [];
	const tenant = await actOnTenant(context, id, {
		move: { act: 'resume' },
		note,
		also: async (tx) => {
			flows = await reopenEntries(queryableOf(tx), id);
		},
	});
	await wakeNow(context.db, flows);
	return tenant;
}
