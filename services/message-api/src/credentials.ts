import { matchesSecret, parseApiKey } from '@tidings/crypto';
import { type Db, findCredential } from '@tidings/db';
import { CAPABILITIES } from '@tidings/model';
import type { CallerTenant, CredentialSource } from '@tidings/runtime';

/** API keys and tenants as they stand in the database. */
export function credentialsIn(db: Db): CredentialSource {
	return {
		parseKey: parseApiKey,
		matchesSecret,
		findCredential: async (keyId) => {
			const key = await findCredential(db.pool, keyId);
			if (key === null || key.tenantStatus === 'DELETED') return null;
			// A capability that this release does not know, from a newer one, gives nothing here.
			const capabilities = CAPABILITIES.filter((one) => key.capabilities.includes(one));
			return {
				...key,
				capabilities,
				tenant: { id: key.tenantId, kind: key.tenantKind, status: key.tenantStatus, settings: key.tenantSettings },
			};
		},
		findTenant: async (id) => {
			const tenant = await db.prisma.tenant.findUnique({ where: { id }, select: { id: true, kind: true, status: true, settings: true } });
			return tenant === null || tenant.status === 'DELETED' ? null : (tenant as CallerTenant);
		},
	};
}
