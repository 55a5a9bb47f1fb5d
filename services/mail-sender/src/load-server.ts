import type { Db } from '@tidings/db';

/** Opens a sealed field; throws an error whose message names the key id only. */
export type OpenSecret = (sealed: string, field: { tenantId: string; table: string; column: string; rowId: string }) => string;

/** A mail server as a transport needs it, with its secrets opened. */
export type LoadedServer = {
	readonly version: number;
	readonly host: string;
	readonly port: number;
	readonly security: 'none' | 'starttls' | 'tls';
	readonly auth: { readonly user: string; readonly password: string } | null;
	readonly dkim: { readonly domain: string; readonly selector: string; readonly privateKey: string } | null;
};

/** A mail server that cannot be used as it stands: a person must mend it. The message holds no secret. */
export class ServerUnusable extends Error {
	override readonly name = 'ServerUnusable';
}

/** The refusal for a message whose mail server was deleted. */
export function serverGone(): ServerUnusable {
	return new ServerUnusable('The mail server of this message does not exist any more.');
}

const TABLE = 'mail_send_server_config';

/**
 * Loads a mail server by id (throws `ServerUnusable`), also one that was disabled since its records were accepted. It may be the platform's, so the look-up names no tenant:
 * the record that asks for it was bound to it at acceptance.
 */
export async function loadServer(db: Db, openSecret: OpenSecret, id: string): Promise<LoadedServer> {
	const row = await db.prisma.mailSendServerConfig.findUnique({ where: { id } });
	if (row === null) throw serverGone();
	const open = (sealed: string, column: string): string => {
		try {
			return openSecret(sealed, { tenantId: row.tenantId, table: TABLE, column, rowId: id });
		} catch (cause) {
			throw new ServerUnusable(cause instanceof Error ? cause.message : 'A credential of this mail server cannot be opened.', { cause });
		}
	};
	return {
		version: row.version,
		host: row.host,
		port: row.port,
		security: row.security as LoadedServer['security'],
		auth:
			row.username === null
				? null
				: { user: row.username, password: row.passwordSealed === null ? '' : open(row.passwordSealed, 'password_sealed') },
		dkim:
			row.dkimDomain === null || row.dkimSelector === null || row.dkimKeySealed === null
				? null
				: { domain: row.dkimDomain, selector: row.dkimSelector, privateKey: open(row.dkimKeySealed, 'dkim_key_sealed') },
	};
}
