import { openChanged, queryableOf } from '@tidings/db';
import { now, type Problem } from '@tidings/model';
import { audit } from '../audit.js';
import { collectFaults, rawOf, refuseFaulty } from '../checks/faults.js';
import { insertUnique } from '../insert-unique.js';
import { type CheckedChange, checkChange } from './check-change.js';
import { NAME_TAKEN, type ServerContext, type StoredServer, sealerOf } from './create-server.js';
import { dropDefault } from './default-server.js';
import type { ServerChange } from './server-schema.js';
import { wakeOpened } from './wake-opened.js';

/**
 * Changes a mail server (RFC 7396) that stands as `stored`: a compare-and-swap on its version; null when it was changed or deleted meanwhile, and then nothing is written.
 * A changed config opens its gate, and what waits behind it is looked at at once. Secrets are sealed again only when they are given. Throws a `Problem` as `createServer` does.
 */
export async function changeServer(
	context: ServerContext,
	stored: StoredServer,
	given: ServerChange,
	schemaFaults: Problem['faults'],
): Promise<StoredServer | null> {
	const faults = collectFaults(schemaFaults);
	const checked = await checkChange(stored, rawOf(given) ?? {}, faults, context);
	refuseFaulty(faults);
	const fields = Object.keys(given).sort();
	if (fields.length === 0) return stored;
	const { id, tenantId, version } = stored;
	const changed = await insertUnique(context.db, { tenantId, taken: NAME_TAKEN }, async (tx) => {
		const takesOver = given.default === true && !stored.isDefault;
		// Together with the default until now and in id order, as a rotation of keys locks them.
		const found = await tx.$queryRaw<{ id: string; version: number }[]>`
			select id, version from mail_send_server_config where tenant_id = ${tenantId}::uuid and (id = ${id}::uuid or (is_default and ${takesOver})) order by id for no key update`;
		if (!found.some((one) => one.id === id && one.version === version)) return null;
		if (takesOver) await dropDefault(tx, context, tenantId);
		const [after] = await tx.mailSendServerConfig.updateManyAndReturn({
			where: { id, tenantId, version },
			data: { ...columnsOf(context, stored, given, checked), version: { increment: 1 }, updatedAt: now() },
		});
		if (after === undefined) throw new Error('a mail server changed although it was locked');
		await openChanged(queryableOf(tx), after);
		await audit(tx, context, {
			tenantId,
			action: 'mail-server.update',
			subjectType: 'mail-server',
			subjectId: id,
			detail: { name: after.name, host: after.host, fields, default: after.isDefault, active: after.active },
		});
		return after;
	});
	if (changed !== null) await wakeOpened(context.db, id);
	return changed;
}

function columnsOf({ keyring }: ServerContext, stored: StoredServer, given: ServerChange, checked: CheckedChange): Partial<StoredServer> {
	const sealed = sealerOf(keyring, stored.tenantId, stored.id);
	const { from, dkim, login } = checked;
	const { username, password } = given;
	const isDefault = given.active === false ? false : given.default;
	return {
		...(given.name === undefined ? {} : { name: given.name }),
		...(given.host === undefined ? {} : { host: given.host }),
		...(given.port === undefined ? {} : { port: given.port }),
		...(given.security === undefined ? {} : { security: given.security }),
		...(login === 'goes' ? { username: null, passwordSealed: null } : {}),
		...(typeof username === 'string' ? { username } : {}),
		...(typeof password === 'string' ? { passwordSealed: sealed('password_sealed', password) } : {}),
		...(from === null ? {} : { fromAddress: from.from.address, fromName: from.from.name, allowedFrom: [...from.allowedFrom] }),
		...(given.dkim === null ? { dkimDomain: null, dkimSelector: null, dkimKeySealed: null } : {}),
		...(dkim === null ? {} : { dkimDomain: dkim.domain, dkimSelector: dkim.selector }),
		...(dkim === null || dkim.privateKey === null ? {} : { dkimKeySealed: sealed('dkim_key_sealed', dkim.privateKey) }),
		...(given.ratePerMinute === undefined ? {} : { ratePerMinute: given.ratePerMinute || null }),
		...(given.dailyLimit === undefined ? {} : { dailyLimit: given.dailyLimit || null }),
		...(given.ambiguous === undefined ? {} : { onAmbiguous: given.ambiguous }),
		...(given.active === undefined ? {} : { active: given.active }),
		...(isDefault === undefined ? {} : { isDefault }),
	};
}
