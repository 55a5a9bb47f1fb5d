import type { Db, PrismaTx } from '@tidings/db';
import { CAPABILITIES, continueTrace, newId } from '@tidings/model';
import { createApiKey } from './create-api-key.js';

/** The first tenant and two keys. `apiKey`: every capability but `platform`, of that tenant. `platformKey`: all, of the platform. */
export type Bootstrapped = { readonly tenantId: string; readonly apiKey: string; readonly platformKey: string };

/** Locked while it runs, so that two at once make one tenant. */
const LOCK = 'tidings bootstrap';
const ACTOR = 'bootstrap';

/** Sets up what a fresh mesh needs: the platform's own tenant and a first one, each once, and a fresh key for both. Older keys stay valid. */
export async function bootstrap(db: Db): Promise<Bootstrapped> {
	return await db.prisma.$transaction(async (tx) => {
		await tx.$executeRaw`select pg_advisory_xact_lock(hashtext(${LOCK}))`;
		const platform = await ensureTenant(tx, 'PLATFORM', 'Platform');
		const tenant = await ensureTenant(tx, 'TENANT', 'First tenant');
		const who = { actor: ACTOR, traceId: continueTrace(undefined).traceId };
		const own = CAPABILITIES.filter((one) => one !== 'platform');
		const apiKey = await createApiKey(tx, who, { tenantId: tenant, name: 'bootstrap', capabilities: own, expiresAt: null });
		const platformKey = await createApiKey(tx, who, { tenantId: platform, name: 'bootstrap', capabilities: CAPABILITIES, expiresAt: null });
		return { tenantId: tenant, apiKey: apiKey.text, platformKey: platformKey.text };
	});
}

async function ensureTenant(tx: PrismaTx, kind: 'TENANT' | 'PLATFORM', name: string): Promise<string> {
	const oldest = await tx.tenant.findFirst({ where: { kind }, orderBy: { id: 'asc' }, select: { id: true, status: true } });
	if (oldest !== null && oldest.status !== 'DELETED') return oldest.id;
	// Once the first one is deleted, the next one by age may be anybody: only a tenant that this has made is given keys.
	const again = await tx.tenant.findFirst({ where: { kind, name, status: { not: 'DELETED' } }, select: { id: true } });
	if (again !== null) return again.id;
	const made = await tx.tenant.create({ data: { id: newId(), name, kind } });
	return made.id;
}
