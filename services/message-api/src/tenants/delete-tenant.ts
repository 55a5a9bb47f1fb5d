import { Problem } from '@tidings/model';
import { actOnTenant, type TenantContext } from './act-on-tenant.js';
import type { StoredTenant } from './tenant-schema.js';

/**
 * Begins to delete a tenant: ACTIVE or SUSPENDED → DELETING. It takes no messages any more; what waits is delivered or cancelled, and then the publishers erase it.
 * `refuse` is shown the tenant under its lock, and throws when the caller has seen another. Throws a `Problem`: 404, or 409: DELETING or DELETED already, the platform's own,
 * or a suspended tenant whose mail was to be delivered.
 */
export async function deleteTenant(
	context: TenantContext,
	id: string,
	{ queued, refuse }: { queued: 'deliver' | 'cancel'; refuse: (tenant: StoredTenant) => void },
): Promise<StoredTenant> {
	return await actOnTenant(context, id, {
		move: { act: 'delete', queued },
		note: null,
		refuse: (tenant) => {
			refuse(tenant);
			if (tenant.status !== 'SUSPENDED' || queued === 'cancel') return;
			throw new Problem(
				'state-conflict',
				'The tenant is SUSPENDED, so nothing that waits can be delivered: resume it first, or delete it with `queued=cancel`.',
			);
		},
	});
}
