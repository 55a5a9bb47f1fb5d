import type { PrismaTx } from '@tidings/db';
import { Problem } from '@tidings/model';

/**
 * Holds a tenant's row until the transaction ends, so that it is not erased while something of it is made. Throws a `Problem` 404 when it is erased already: its credentials
 * are remembered for some seconds more, and what they make then would stay for ever. To be called before anything else of the tenant is locked.
 */
export async function holdTenant(tx: PrismaTx, tenantId: string): Promise<void> {
	const [tenant] = await tx.$queryRaw<{ status: string }[]>`select status from tenant where id = ${tenantId}::uuid for share`;
	if (tenant?.status === 'DELETED') throw new Problem('not-found', 'The tenant is DELETED: there is nothing of it any more.');
}
