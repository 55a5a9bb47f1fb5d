import { now, Problem } from '@tidings/model';
import type { TenantSettings } from '@tidings/runtime';
import { audit } from '../audit.js';
import { insertUnique } from '../insert-unique.js';
import { noSuchTenant, type TenantContext } from './act-on-tenant.js';
import { mergeSettings, type SettingsChange, type StoredTenant, settingsTold } from './tenant-schema.js';

/** What is to be different: what is absent stays. */
export type TenantChange = { readonly name?: string; readonly settings?: SettingsChange };

/**
 * Changes name and settings of a tenant. `refuse` is shown the tenant under its lock, and throws when the caller has seen another.
 * Throws a `Problem`: 404, 409 when the name is taken or the tenant is DELETED. Nothing is written when nothing is to be different.
 */
export async function changeTenant(
	context: TenantContext,
	id: string,
	{ change, refuse }: { change: TenantChange; refuse: (tenant: StoredTenant) => void },
): Promise<StoredTenant> {
	const { name, settings } = change;
	const changed = await insertUnique(context.db, { tenantId: id, taken: 'A tenant has this name already.' }, async (tx) => {
		const tenant = await tx.tenant.findUnique({ where: { id } });
		if (tenant === null) throw noSuchTenant();
		refuse(tenant);
		if (tenant.status === 'DELETED') throw new Problem('state-conflict', 'The tenant is DELETED: nothing of it can be changed.');
		if (name === undefined && settings === undefined) return tenant;
		const detail = { ...(name === undefined ? {} : { name, formerName: tenant.name }), settings: settingsTold(settings) };
		await audit(tx, context, { tenantId: id, action: 'tenant.update', subjectType: 'tenant', subjectId: id, detail });
		return await tx.tenant.update({
			where: { id },
			data: {
				name: name ?? tenant.name,
				settings: mergeSettings(tenant.settings as TenantSettings, settings),
				version: { increment: 1 },
				updatedAt: now(),
			},
		});
	});
	context.forget();
	return changed;
}
