import type { PrismaTx } from '@tidings/db';
import { now } from '@tidings/model';
import { type Actor, audit } from '../audit.js';

/**
 * Makes room for a new default: the default until now, also one that is not active, is one no longer. Its ETag changes with it. Before the new one is written, for a tenant has one at most;
 * the caller holds the tenant's row, so that two new defaults come one after the other.
 */
export async function dropDefault(tx: PrismaTx, actor: Actor, tenantId: string): Promise<void> {
	const former = await tx.mailSendServerConfig.findFirst({ where: { tenantId, isDefault: true }, select: { id: true } });
	if (former === null) return;
	await tx.mailSendServerConfig.updateMany({
		where: { id: former.id, tenantId },
		data: { isDefault: false, version: { increment: 1 }, updatedAt: now() },
	});
	await audit(tx, actor, {
		tenantId,
		action: 'mail-server.update',
		subjectType: 'mail-server',
		subjectId: former.id,
		detail: { default: false },
	});
}
