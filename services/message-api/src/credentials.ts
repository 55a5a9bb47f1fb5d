import { matchesSecret, parseApiKey } from '@tidings/crypto';
import { type Db, findCredential } from '@tidings/db';
import { CAPABILITIES } from '@tidings/model';
import type { CallerTenant, CredentialSource } from '@tidings/runtime';

/** API keys and tenants as they stand in the database. */
export type Credentials = CredentialSource & {
	/** A key was changed here: this process looks at it anew. Others do so within 15 s. */
	forget(keyId: string): void;
	/** A tenant was changed here: this process looks at all tenants and their keys anew. Others do so within 15 s. */
	forgetTenants(): void;
};

/** Makes the source of credentials. `noteUse` is told of each key that let a request in. */
export function credentialsIn(db: Db, noteUse: (keyId: string) => void = () => undefined): Credentials {
	const memories: ((keyId: string) => void)[] = [];
	const tenantMemories: (() => void)[] = [];
	return {
		parseKey: parseApiKey,
		matchesSecret,
		noteUse,
		onKeyChange: (forget) => void memories.push(forget),
		forget: (keyId) => {
			for (const forget of memories) forget(keyId);
		},
		onTenantChange: (forget) => void tenantMemories.push(forget),
		forgetTenants: () => {
			for (const forget of tenantMemories) forget();
		},
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
