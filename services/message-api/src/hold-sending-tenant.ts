import { holdStatus, type Queryable } from '@tidings/db';
import { Problem } from '@tidings/model';
import { refusalOfTenant } from '@tidings/runtime';

/**
 * Holds a tenant's row until the transaction ends, so that nothing of it is sent anew once its deletion is answered: a node may remember for some seconds that it was ACTIVE. A suspended
 * tenant's messages wait. Throws a `Problem` 403 when it is being deleted, 404 when it is erased. To be called before anything else of the tenant is locked.
 */
export async function holdSendingTenant(client: Queryable, tenantId: string): Promise<void> {
	const status = await holdStatus(client, tenantId);
	if (status === null || status === 'DELETED')
		throw new Problem('not-found', `The tenant is ${status ?? 'not there'}: there is nothing of it any more.`);
	const refusal = status === 'DELETING' ? refusalOfTenant({ status }) : null;
	if (refusal !== null) throw refusal;
}
