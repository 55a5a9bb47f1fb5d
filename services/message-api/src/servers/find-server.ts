import type { Db } from '@tidings/db';
import { Problem } from '@tidings/model';
import type { Caller } from '@tidings/runtime';
import { refuseForeignTier } from '../refuse-foreign-tier.js';
import type { StoredServer } from './create-server.js';

/** The mail server that a caller names: of the tenant that the request is about, or, for who holds `platform`, one of the platform's own. Throws 404 for every other. */
export async function findServer({ prisma }: Db, caller: Caller, id: string): Promise<StoredServer> {
	const own = await prisma.mailSendServerConfig.findFirst({ where: { id, tenantId: caller.tenant.id } });
	if (own !== null) return own;
	const platformId = caller.capabilities.has('platform') ? await findPlatform(prisma) : null;
	const shared = platformId === null ? null : await prisma.mailSendServerConfig.findFirst({ where: { id, tenantId: platformId } });
	if (shared === null) throw new Problem('not-found', 'There is no such mail server.');
	return shared;
}

/** Whose servers are meant by a `scope`: the tenant's that the request is about (the default), or the platform's own. Throws 403 when the caller may not ask for these. `pointer`: where it stands in a body. */
export async function ownerOf({ prisma }: Db, caller: Caller, scope: unknown, pointer: string | null): Promise<string> {
	if (scope !== 'PLATFORM') return caller.tenant.id;
	refuseForeignTier(caller, pointer === null ? [] : [pointer]);
	const platformId = await findPlatform(prisma);
	if (platformId === null) throw new Problem('not-found', 'There is no platform tenant yet: run `npm run bootstrap`.');
	return platformId;
}

async function findPlatform(prisma: Db['prisma']): Promise<string | null> {
	const platform = await prisma.tenant.findFirst({ where: { kind: 'PLATFORM' }, select: { id: true } });
	return platform?.id ?? null;
}
