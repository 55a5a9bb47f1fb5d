import type { Db } from '@tidings/db';
import { now, Problem } from '@tidings/model';
import { type Actor, audit } from './audit.js';
import { type StoredApiKey, takeKey } from './take-api-key.js';

/** Revokes an API key, also an expired one. A `Problem` 404 when the tenant has no such key, 409 when it is revoked already. */
export async function revokeApiKey(db: Db, who: Actor, { tenantId, id }: { tenantId: string; id: string }): Promise<StoredApiKey> {
	return await db.prisma.$transaction(async (tx) => {
		const key = await takeKey(tx, tenantId, id);
		if (key.revokedAt !== null) throw new Problem('state-conflict', `The key was revoked already, at ${key.revokedAt.toISOString()}.`);
		const { keyId, name } = key;
		await audit(tx, who, { tenantId, action: 'api-key.revoke', subjectType: 'api-key', subjectId: id, detail: { keyId, name } });
		return await tx.apiKey.update({ where: { id, tenantId }, data: { revokedAt: now() } });
	});
}
