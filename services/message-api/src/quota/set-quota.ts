import { type PrismaTx, type QuotaWarning, queryableOf, warnQuota } from '@tidings/db';
import { type MonthlyCaps, now, Problem, QUOTA_CHANNELS } from '@tidings/model';
import { audit } from '../audit.js';
import { noSuchTenant, type TenantContext } from '../tenants/act-on-tenant.js';
import { findQuota } from './find-quota.js';
import { QUOTA_FIELDS, type SetCaps } from './quota-schema.js';

/** A tenant's quota as it is set, and how often it was changed. */
export type StandingQuota = { readonly version: number; readonly set: SetCaps };

/**
 * Sets what a tenant may send in a month, all of it: a channel that is absent goes back to the default. It holds from the next message on; what is used already stays used.
 * `refuse` is shown the version under the tenant's lock, and throws when the caller has seen another. Throws a `Problem`: 404, or 409 when the tenant is DELETED.
 * Nothing is written when nothing is to be different. `warnings`: of which caps 80 or 100 % are used already; to be told after the commit. `caps`: the defaults.
 */
export async function setQuota(
	context: Pick<TenantContext, 'db' | 'actor' | 'traceId'>,
	tenantId: string,
	{ set, refuse, caps }: { readonly set: SetCaps; readonly refuse: (version: number) => void; readonly caps: MonthlyCaps },
): Promise<StandingQuota & { readonly warnings: readonly QuotaWarning[] }> {
	return await context.db.prisma.$transaction(async (tx) => {
		await tx.$queryRaw`select id from tenant where id = ${tenantId}::uuid for no key update`;
		const tenant = await tx.tenant.findUnique({ where: { id: tenantId }, select: { status: true, quotaVersion: true } });
		if (tenant === null) throw noSuchTenant();
		refuse(tenant.quotaVersion);
		if (tenant.status === 'DELETED') throw new Problem('state-conflict', 'The tenant is DELETED: nothing of it can be changed.');
		const standing = await findQuota(tx, tenantId);
		const changed = QUOTA_CHANNELS.filter((channel) => set[channel] !== standing[channel]);
		if (changed.length === 0) return { version: tenant.quotaVersion, set, warnings: [] };
		for (const channel of changed) await writeCap(tx, tenantId, { channel, cap: set[channel] });
		const told = (caps: SetCaps): string[] => changed.map((channel) => `${QUOTA_FIELDS[channel]}=${capTold(caps[channel])}`);
		const detail = { quota: told(set), formerQuota: told(standing) };
		await audit(tx, context, { tenantId, action: 'tenant.set-quota', subjectType: 'tenant', subjectId: tenantId, detail });
		const { quotaVersion } = await tx.tenant.update({ where: { id: tenantId }, data: { quotaVersion: { increment: 1 } } });
		const capped = changed.flatMap((channel) => {
			const cap = set[channel] === undefined ? caps[channel] : set[channel];
			return cap === null ? [] : [{ tenantId, channel, cap }];
		});
		return { version: quotaVersion, set, warnings: await warnQuota(queryableOf(tx), capped) };
	});
}

async function writeCap(
	tx: PrismaTx,
	tenantId: string,
	{ channel, cap }: { channel: string; cap: number | null | undefined },
): Promise<void> {
	await tx.tenantMessageQuota.deleteMany({ where: { tenantId, channel } });
	if (cap !== undefined) await tx.tenantMessageQuota.create({ data: { tenantId, channel, cap, updatedAt: now() } });
}

function capTold(cap: number | null | undefined): string {
	return cap === undefined ? 'default' : cap === null ? 'unlimited' : String(cap);
}
