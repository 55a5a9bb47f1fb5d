import { actOnTenant, type TenantContext } from './act-on-tenant.js';
import type { StoredTenant } from './tenant-schema.js';

/**
 * Suspends a tenant: ACTIVE → SUSPENDED. It takes no messages (here at once, on other nodes within 15 s), and what waits is neither published nor claimed; what is being sent ends as it would.
 * Throws a `Problem`: 404, or 409 in every other state and for the platform's own tenant.
 */
export async function suspendTenant(
	context: TenantContext,
	id: string,
	{ note = null }: { note?: string | null } = {},
): Promise<StoredTenant> {
	return await actOnTenant(context, id, { move: { act: 'suspend' }, note });
}
