import { type Db, findOpenMessages, type OpenMessages, queryableOf } from '@tidings/db';
import { Problem } from '@tidings/model';
import { type Actor, audit } from '../audit.js';
import type { StoredServer } from './create-server.js';

/**
 * Deletes a mail server that stands as `stored`, with its gate; its name is free again. False when it was changed or deleted meanwhile. Throws a `Problem` 409 while messages are open that go through it.
 * Its flows stay: API processes remember them, and records name them, so that an entry could be appended to a flow that is gone, where no publisher would ever find it. What is accepted
 * by an API that has not heard of the deletion yet (within a second), or sent again by a person later, ends as a dead letter that says that the server is gone.
 */
export async function deleteServer(db: Db, actor: Actor, { id, tenantId, version, name }: StoredServer): Promise<boolean> {
	return await db.prisma.$transaction(async (tx) => {
		const { count } = await tx.mailSendServerConfig.deleteMany({ where: { id, tenantId, version } });
		if (count === 0) return false;
		refuseInUse(await findOpenMessages(queryableOf(tx), id));
		await tx.gate.deleteMany({ where: { id, tenantId } });
		await audit(tx, actor, { tenantId, action: 'mail-server.delete', subjectType: 'mail-server', subjectId: id, detail: { name } });
		return true;
	});
}

function refuseInUse({ waiting, sending, held }: OpenMessages): void {
	const states = [...(waiting ? ['PENDING or RETRY'] : []), ...(sending ? ['SENDING'] : []), ...(held ? ['HELD'] : [])];
	if (states.length > 0)
		throw new Problem(
			'state-conflict',
			`Messages that go through this server are still open (${states.join(', ')}). Disable it instead, by PATCH with \`{"active": false}\`, and delete it when they are done.`,
		);
}
