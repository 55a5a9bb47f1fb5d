import { newApiKey } from '@tidings/crypto';
import type { PrismaTx } from '@tidings/db';
import { type Capability, newId } from '@tidings/model';
import { type Actor, audit } from './audit.js';
import { holdTenant } from './hold-tenant.js';
import type { StoredApiKey } from './take-api-key.js';

/** A key that was just made. `text` is shown now and never again. */
export type CreatedKey = { readonly id: string; readonly keyId: string; readonly text: string; readonly stored: StoredApiKey };

/** Makes an API key of a tenant in the caller's transaction; only the hash of its secret is stored. `expiresAt` null: it does not expire. Throws a `Problem` 404 when the tenant is erased. */
export async function createApiKey(
	tx: PrismaTx,
	who: Actor,
	key: { tenantId: string; name: string; capabilities: readonly Capability[]; expiresAt: Date | null },
): Promise<CreatedKey> {
	const { text, keyId, secretSha256 } = newApiKey();
	const id = newId();
	const { tenantId, name, expiresAt } = key;
	await holdTenant(tx, tenantId);
	const stored = await tx.apiKey.create({
		data: { id, tenantId, keyId, secretSha256: new Uint8Array(secretSha256), name, capabilities: [...key.capabilities], expiresAt },
	});
	await audit(tx, who, {
		tenantId,
		action: 'api-key.create',
		subjectType: 'api-key',
		subjectId: id,
		detail: { keyId, name, capabilities: key.capabilities, expiresAt: expiresAt?.toISOString() ?? null },
	});
	return { id, keyId, text, stored };
}
