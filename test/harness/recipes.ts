import { newId } from '@tidings/model';
import type { Answer, TestApi } from './api.js';

/** What an operation is called with: the id of a thing in the right state, and its ETag where it has one. */
export type Ready = { readonly id?: string; readonly etag?: string | null };

/** Makes what one operation needs. */
export type Recipe = () => Promise<Ready>;

/** A tenant, and a key of it that holds all but `platform`. */
export type Owner = { readonly tenantId: string; readonly apiKey: string };

const SERVER = { host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
const LOGIN = { username: 'shop', password: 'a password' };

/** Makes a mail server of a tenant, which takes all its mails. */
export async function makeServer(api: TestApi, { apiKey }: Pick<Owner, 'apiKey'>): Promise<string> {
	return (await api.call('/v1/mail-servers', { key: apiKey, body: { ...SERVER, name: newId() } })).body.id;
}

/**
 * How each operation of the document is made ready to be called with its example, by its operationId; its things belong to `owner`, who must have a mail server.
 * Whoever walks over the document fails when an operation has no row here, and when a row has no operation.
 */
export function createRecipes(api: TestApi, owner: Owner): Readonly<Record<string, Recipe>> {
	const { apiKey: key, tenantId } = owner;
	const nothing: Recipe = async () => ({});
	const send = async (): Promise<string> =>
		(await api.call('/v1/mails', { key, body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' } })).body.id;
	const aMessage: Recipe = async () => ({ id: await send() });
	const aServer: Recipe = async () =>
		tagged(await api.call('/v1/mail-servers', { key, body: { ...SERVER, ...LOGIN, name: newId(), default: false } }));
	const aTenant = async (): Promise<{ id: string; etag: string | null }> =>
		tagged(await api.call('/v1/tenants', { key: api.platformKey, body: { name: newId() } }));
	const aLetter: Recipe = async () => ({ id: await writeLetter(api, tenantId, await exhaust(api, await send())) });
	/** Only so many of a tenant may be RUNNING. */
	const roomForReplays: Recipe = async () => {
		await api.db.pool.query(`update dead_letter_replay set status = 'STOPPED', finished_at = now() where status = 'RUNNING'`);
		return {};
	};
	const aReplay: Recipe = async () => ({
		...(await roomForReplays()),
		id: (await api.call('/v1/dead-letter-replays', { key, body: { filter: { source: 'EXPIRED' } } })).body.id,
	});
	const aKey: Recipe = async () => ({
		id: (await api.call('/v1/api-keys', { key, body: { name: newId(), capabilities: ['messages:read'] } })).body.id,
	});
	const withQuota = async (id: string): Promise<Ready> => {
		const { headers } = await api.call(`/v1/tenants/${id}/quota`, { key: api.platformKey });
		return { id, etag: headers.get('etag') };
	};
	/** The route stands as after this act; what an act on it writes is the platform's. */
	const withRoute = async (act: 'pause' | 'resume'): Promise<Ready> => {
		await api.call(`/v1/routes/mail-send:${act}`, { method: 'POST', key: api.platformKey });
		const platform = await api.db.prisma.tenant.findFirstOrThrow({ where: { kind: 'PLATFORM' } });
		return { id: platform.id };
	};
	return {
		getOpenApi: nothing,
		sendMail: nothing,
		sendMails: nothing,
		listMessages: nothing,
		getMessage: aMessage,
		listAttempts: aMessage,
		getTimeline: aMessage,
		getContent: aMessage,
		cancelMessage: aMessage,
		retryMessage: aMessage,
		releaseMessage: async () => ({ id: await hold(api, await send()) }),
		listDeadLetters: nothing,
		getDeadLetter: async () => ({ id: await writeLetter(api, tenantId, await send()) }),
		resolveDeadLetter: aLetter,
		discardDeadLetter: aLetter,
		replayDeadLetter: aLetter,
		startDeadLetterReplay: roomForReplays,
		listDeadLetterReplays: nothing,
		getDeadLetterReplay: aReplay,
		stopDeadLetterReplay: aReplay,
		getStats: nothing,
		createMailServer: nothing,
		listMailServers: nothing,
		getMailServer: aServer,
		changeMailServer: aServer,
		deleteMailServer: aServer,
		testMailServer: aServer,
		getMailServerState: aServer,
		pauseMailServer: aServer,
		resumeMailServer: async () => {
			const ready = await aServer();
			await api.call(`/v1/mail-servers/${ready.id}:pause`, { method: 'POST', key });
			return ready;
		},
		listRoutes: nothing,
		pauseMailSend: async () => await withRoute('resume'),
		resumeMailSend: async () => await withRoute('pause'),
		createTenant: nothing,
		listTenants: nothing,
		getTenant: aTenant,
		changeTenant: aTenant,
		deleteTenant: aTenant,
		suspendTenant: aTenant,
		resumeTenant: async () => {
			const { id } = await aTenant();
			await api.call(`/v1/tenants/${id}:suspend`, { method: 'POST', key: api.platformKey });
			return { id };
		},
		getQuotaUsage: nothing,
		getQuota: async () => await withQuota((await aTenant()).id),
		setQuota: async () => await withQuota((await aTenant()).id),
		createApiKey: nothing,
		listApiKeys: nothing,
		getApiKey: aKey,
		revokeApiKey: aKey,
		rotateApiKey: aKey,
		listAuditEvents: nothing,
		listOutboxEntries: nothing,
		requeueOutboxEntry: async () => ({ id: await bury(api, await send()) }),
	};
}

function tagged({ body, headers }: Answer): { id: string; etag: string | null } {
	if (typeof body.id !== 'string') throw new Error(`nothing was made: ${JSON.stringify(body)}`);
	return { id: body.id, etag: headers.get('etag') };
}

/** Leaves a message as a sender does that does not know whether its mail was taken, where the server says `hold`. */
async function hold(api: TestApi, id: string): Promise<string> {
	return await endAs(api, id, 'HELD');
}

/** Leaves a message as a sender does that has used up its attempts, but for its letter. */
async function exhaust(api: TestApi, id: string): Promise<string> {
	return await endAs(api, id, 'DEAD_LETTER');
}

async function endAs({ db: { pool } }: TestApi, id: string, status: 'HELD' | 'DEAD_LETTER'): Promise<string> {
	await pool.query('delete from outbox_entry where id = $1', [id]);
	await pool.query(
		`update send_state set status = 'SENDING', version = version + 1, attempt_no = 1, due_at = null, lease_until = now(), claimed_at = now(), claimed_by = 'w' where id = $1`,
		[id],
	);
	await pool.query(
		`update send_state set status = $2, version = version + 1, lease_until = null, claimed_at = null, claimed_by = null, finished_at = case $2 when 'HELD' then null else now() end where id = $1`,
		[id, status],
	);
	return id;
}

async function writeLetter({ db }: TestApi, tenantId: string, recordId: string): Promise<string> {
	const data = { id: newId(), tenantId, source: 'SEND_EXHAUSTED', recordId, channel: 'MAIL', type: 'mail', error: 'no' };
	return (await db.prisma.deadLetterMessage.create({ data })).id;
}

/** Leaves an outbox entry as the publisher does that the broker refused ten times. */
async function bury({ db: { pool } }: TestApi, id: string): Promise<string> {
	await pool.query(`update outbox_entry set status = 'PUBLISHING', taken = true, lease_until = now() where id = $1`, [id]);
	await pool.query(`update outbox_entry set status = 'DEAD', taken = null, lease_until = null, refusals = 10 where id = $1`, [id]);
	return id;
}
