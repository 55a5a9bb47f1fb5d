import { type Keyring, seal } from '@tidings/crypto';
import type { Db, PrismaTx } from '@tidings/db';
import { LIMITS, newId, Problem } from '@tidings/model';
import { audit } from '../audit.js';
import { collectFaults, rawOf, refuseFaulty } from '../checks/faults.js';
import { holdTenant } from '../hold-tenant.js';
import { insertUnique } from '../insert-unique.js';
import { checkServer } from './check-server.js';
import { dropDefault } from './default-server.js';
import type { NewServer } from './server-schema.js';

/** What making and changing a mail server needs, and who does it. */
export type ServerContext = {
	readonly db: Db;
	readonly keyring: Keyring;
	readonly allowPrivateHosts: boolean;
	readonly actor: string;
	readonly traceId: string;
};

/** A mail server as it is stored. */
export type StoredServer = Awaited<ReturnType<Db['prisma']['mailSendServerConfig']['findFirstOrThrow']>>;

/** What is told when a name is there already. */
export const NAME_TAKEN = 'A mail server of this tenant has this name already.';

/**
 * Makes a mail server of a tenant with its gate; its secrets are sealed before they are written. As default it takes the place of the one until now, also of one that is not active any more, in the same transaction.
 * `schemaFaults`: what a schema found in the body. Throws a `Problem`: 422 with every fault, 409 when the name is taken or there are too many, 404 when the tenant is erased.
 */
export async function createServer(
	context: ServerContext,
	tenantId: string,
	given: NewServer,
	schemaFaults: Problem['faults'] = [],
): Promise<StoredServer> {
	const faults = collectFaults(schemaFaults);
	const checked = await checkServer(rawOf(given) ?? {}, faults, context);
	refuseFaulty(faults);
	const id = newId();
	const sealed = sealerOf(context.keyring, tenantId, id);
	const { dkim, from } = checked;
	return await insertUnique(context.db, { tenantId, taken: NAME_TAKEN }, async (tx) => {
		await holdTenant(tx, tenantId);
		await refuseTooMany(tx, tenantId);
		const hasDefault = await tx.mailSendServerConfig.findFirst({
			where: { tenantId, isDefault: true, active: true },
			select: { id: true },
		});
		const active = given.active ?? true;
		const isDefault = active && (given.default ?? hasDefault === null);
		if (isDefault) await dropDefault(tx, context, tenantId);
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
				passwordSealed: given.password === undefined ? null : sealed('password_sealed', given.password),
				fromAddress: from.address,
				fromName: from.name,
				allowedFrom: [...checked.allowedFrom],
				isDefault,
				ratePerMinute: given.ratePerMinute || null,
				dailyLimit: given.dailyLimit || null,
				onAmbiguous: given.ambiguous ?? 'resend',
				dkimDomain: dkim?.domain ?? null,
				dkimSelector: dkim?.selector ?? null,
				dkimKeySealed: dkim === null || dkim.privateKey === null ? null : sealed('dkim_key_sealed', dkim.privateKey),
				active,
			},
		});
	});
}

/** The servers of a tenant are read as one to choose from: all together must stay small. */
async function refuseTooMany(tx: PrismaTx, tenantId: string): Promise<void> {
	if ((await tx.mailSendServerConfig.count({ where: { tenantId } })) < LIMITS.mailServers) return;
	throw new Problem(
		'state-conflict',
		`There are ${LIMITS.mailServers} mail servers already, which is the most: delete one that is not used any more.`,
	);
}

/** Seals a secret of one mail server, bound to its place. */
export function sealerOf(
	keyring: Keyring,
	tenantId: string,
	id: string,
): (column: 'password_sealed' | 'dkim_key_sealed', clear: string) => string {
	return (column, clear) => seal(keyring, clear, { tenantId, table: 'mail_send_server_config', column, rowId: id });
}
