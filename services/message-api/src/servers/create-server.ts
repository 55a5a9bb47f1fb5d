import { type Keyring, seal } from '@tidings/crypto';
import type { Db } from '@tidings/db';
import { newId, Problem } from '@tidings/model';
import { audit } from '../audit.js';
import { collectFaults, rawOf } from '../checks/faults.js';
import { insertUnique } from '../insert-unique.js';
import { checkServer } from './check-server.js';
import type { NewServer } from './server-schema.js';

/** What making a mail server needs, and who makes it. */
export type ServerContext = {
	readonly db: Db;
	readonly keyring: Keyring;
	readonly allowPrivateHosts: boolean;
	readonly actor: string;
	readonly traceId: string;
};

/** A mail server as it is stored. */
export type StoredServer = Awaited<ReturnType<Db['prisma']['mailSendServerConfig']['findFirstOrThrow']>>;

const TABLE = 'mail_send_server_config';

/**
 * Makes a mail server of a tenant with its gate; its secrets are sealed before they are written. As default it takes the place of the one until now, also of one that is not active any more, in the same transaction.
 * `schemaFaults`: what a schema found in the body. Throws a `Problem`: 422 with every fault, 409 when the name is taken.
 */
export async function createServer(
	context: ServerContext,
	tenantId: string,
	given: NewServer,
	schemaFaults: Problem['faults'] = [],
): Promise<StoredServer> {
	const faults = collectFaults(schemaFaults);
	const checked = await checkServer(rawOf(given) ?? {}, faults, context);
	if (faults.list.length > 0)
		throw new Problem('invalid-request', 'The mail server is refused. Nothing was written.', { faults: faults.list });
	const id = newId();
	const sealed = (clear: string | undefined, column: string): string | null =>
		clear === undefined ? null : seal(context.keyring, clear, { tenantId, table: TABLE, column, rowId: id });
	const { dkim, from } = checked;
	return await insertUnique(context.db, { tenantId, taken: 'A mail server of this tenant has this name already.' }, async (tx) => {
		const former = await tx.mailSendServerConfig.findFirst({ where: { tenantId, isDefault: true }, select: { id: true, active: true } });
		const active = given.active ?? true;
		const isDefault = active && (given.default ?? former?.active !== true);
		if (isDefault && former !== null)
			await tx.mailSendServerConfig.updateMany({ where: { id: former.id, tenantId }, data: { isDefault: false } });
		await tx.gate.create({ data: { id, tenantId, kind: 'CONFIG' } });
		await audit(tx, context, {
			tenantId,
			action: 'mail-server.create',
			subjectType: 'mail-server',
			subjectId: id,
			detail: { name: given.name, host: given.host, default: isDefault },
		});
		return await tx.mailSendServerConfig.create({
			data: {
				id,
				tenantId,
				name: given.name,
				host: given.host,
				port: given.port,
				security: given.security,
				username: given.username ?? null,
				passwordSealed: sealed(given.password, 'password_sealed'),
				fromAddress: from.address,
				fromName: from.name,
				allowedFrom: [...checked.allowedFrom],
				isDefault,
				onAmbiguous: given.ambiguous ?? 'resend',
				dkimDomain: dkim?.domain ?? null,
				dkimSelector: dkim?.selector ?? null,
				dkimKeySealed: sealed(dkim?.privateKey, 'dkim_key_sealed'),
				active,
			},
		});
	});
}
