import type { PrismaTx } from '@tidings/db';
import { QUOTA_CHANNELS } from '@tidings/model';
import type { SetCaps } from './quota-schema.js';

/** What the operator has set for a tenant, by channel. */
export async function findQuota(tx: Pick<PrismaTx, 'tenantMessageQuota'>, tenantId: string): Promise<SetCaps> {
	const rows = await tx.tenantMessageQuota.findMany({ where: { tenantId } });
	return Object.fromEntries(
		QUOTA_CHANNELS.flatMap((channel) =>
			rows.filter((row) => row.channel === channel).map(({ cap }) => [channel, cap === null ? null : Number(cap)]),
		),
	);
}
