import { type ActiveServer, type Db, ensureFlows, listActiveServers } from '@tidings/db';

/** The platform's default mail server, and the flow of its urgent mails. */
export type AlertServer = ActiveServer & { readonly flowId: string };

/** Finds the platform's own active default mail server; null when it has none. */
export async function findAlertServer({ pool, prisma }: Pick<Db, 'pool' | 'prisma'>): Promise<AlertServer | null> {
	const platform = await prisma.tenant.findFirst({ where: { kind: 'PLATFORM' }, select: { id: true } });
	if (platform === null) return null;
	const server = (await listActiveServers(pool, platform.id)).find((one) => one.isDefault);
	if (server === undefined) return null;
	const [flowId] = await ensureFlows(pool, [{ tenantId: platform.id, gate: server.id, lane: 'urgent', route: 'mail-send' }]);
	return flowId === undefined ? null : { ...server, flowId };
}
