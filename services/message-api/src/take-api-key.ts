import type { PrismaTx } from '@tidings/db';
import { Problem } from '@tidings/model';

/** An API key as it is stored. */
export type StoredApiKey = NonNullable<Awaited<ReturnType<PrismaTx['apiKey']['findFirst']>>>;

/** A key of a tenant, locked until the transaction ends, so that two acts on it come one after the other. A `Problem` 404 when there is none. */
export async function takeKey(tx: PrismaTx, tenantId: string, id: string): Promise<StoredApiKey> {
	await tx.$queryRaw`select id from api_key where tenant_id = ${tenantId}::uuid and id = ${id}::uuid for update`;
	const key = await tx.apiKey.findFirst({ where: { id, tenantId } });
	if (key === null) throw noSuchKey();
	return key;
}

/** What is answered about a key that is not there, or another tenant's. */
export function noSuchKey(): Problem {
	return new Problem('not-found', 'There is no such API key.');
}
