import type { Queryable } from '../client.js';

/** An API key as it is stored, with its tenant. */
export type StoredKey = {
	readonly keyId: string;
	readonly secretSha256: Buffer;
	readonly capabilities: readonly string[];
	readonly expiresAt: Date | null;
	readonly revokedAt: Date | null;
	readonly tenantId: string;
	readonly tenantKind: 'TENANT' | 'PLATFORM';
	readonly tenantStatus: 'ACTIVE' | 'SUSPENDED' | 'DELETING' | 'DELETED';
	readonly tenantSettings: Readonly<Record<string, unknown>>;
};

/** The API key with this public id, also an expired or revoked one. Names no tenant: this look-up is what tells the tenant. Read by its unique index. */
export async function findCredential(pool: Queryable, keyId: string): Promise<StoredKey | null> {
	const { rows } = await pool.query<StoredKey>({
		name: 'find-credential',
		text: `
			select k.key_id as "keyId", k.secret_sha256 as "secretSha256", k.capabilities, k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
				t.id as "tenantId", t.kind as "tenantKind", t.status as "tenantStatus", t.settings as "tenantSettings"
			from api_key k join tenant t on t.id = k.tenant_id where k.key_id = $1`,
		values: [keyId],
	});
	return rows[0] ?? null;
}
