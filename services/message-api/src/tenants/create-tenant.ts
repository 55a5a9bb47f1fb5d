import { newId } from '@tidings/model';
import { audit } from '../audit.js';
import { insertUnique } from '../insert-unique.js';
import type { TenantContext } from './act-on-tenant.js';
import { mergeSettings, type SettingsChange, type StoredTenant, settingsTold } from './tenant-schema.js';

/** Makes a tenant. Throws a `Problem` 409 when the name is taken. */
export async function createTenant(
	context: Pick<TenantContext, 'db' | 'actor' | 'traceId'>,
	{ name, settings }: { readonly name: string; readonly settings?: SettingsChange },
): Promise<StoredTenant> {
	return await insertUnique(context.db, { tenantId: null, taken: 'A tenant has this name already.' }, async (tx) => {
		const made = await tx.tenant.create({ data: { id: newId(), name, settings: mergeSettings({}, settings) } });
		const detail = { name, settings: settingsTold(settings) };
		await audit(tx, context, { tenantId: made.id, action: 'tenant.create', subjectType: 'tenant', subjectId: made.id, detail });
		return made;
	});
}
