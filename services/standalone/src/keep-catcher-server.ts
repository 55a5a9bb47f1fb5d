import type { Db } from '@tidings/db';
import { createServer, type ServerContext } from '@tidings/message-api';
import { continueTrace } from '@tidings/model';

const NAME = 'Mail catcher';

/**
 * Gives the first tenant the mail catcher as its server, at the first start; later, when the catcher listens elsewhere, the server follows it.
 * A tenant that has chosen another default keeps it.
 */
export async function keepCatcherServer(db: Db, keyring: ServerContext['keyring'], tenantId: string, smtpPort: number): Promise<void> {
	const known = await db.prisma.mailSendServerConfig.findFirst({ where: { tenantId, name: NAME } });
	if (known === null) {
		await createServer({ db, keyring, allowPrivateHosts: true, actor: 'standalone', traceId: continueTrace(undefined).traceId }, tenantId, {
			name: NAME,
			host: '127.0.0.1',
			port: smtpPort,
			security: 'none',
			from: { address: 'hello@example.com', name: 'Tidings' },
			allowedFrom: ['*@example.com'],
		});
	} else if (known.port !== smtpPort) {
		await db.prisma.mailSendServerConfig.update({ where: { id: known.id, tenantId }, data: { port: smtpPort, version: { increment: 1 } } });
	}
}
