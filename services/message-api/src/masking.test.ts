import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archivePoisons, readPoison } from '@tidings/db';
import { CAPABILITIES, type Capability, newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';

/** Planted wherever an address or a content can stand. Nobody who may not read content meets it. */
const MARKER = /zebra/i;
const ADDRESS = 'zebra@crossing.example';

let api: TestApi;
/** By what a path's `{id}` means. */
let ids: Record<'message' | 'letter' | 'replay' | 'poison' | 'server' | 'tenant' | 'key', string>;
const keys = { sees: '', blind: '', platformSees: '', platformBlind: '' };
/** Every GET operation of the document. */
let reads: string[];

/**
 * What each read is called with, and whether those who may read content meet the marker there. `content`: it is a 403 without the capability.
 * What is null holds neither address nor content of a message.
 */
const READS: Readonly<Record<string, { id?: keyof typeof ids; query?: string; shows: boolean | 'content'; platform?: true } | null>> = {
	'/openapi.json': null,
	'/v1/messages': { shows: true },
	'/v1/messages/{id}': { id: 'message', shows: true },
	'/v1/messages/{id}/attempts': { id: 'message', shows: true },
	'/v1/messages/{id}/timeline': { id: 'message', shows: true },
	'/v1/messages/{id}/content': { id: 'message', shows: 'content' },
	'/v1/dead-letters': { shows: true },
	'/v1/dead-letters/{id}': { id: 'letter', shows: true },
	'/v1/dead-letter-replays': { shows: true },
	'/v1/dead-letter-replays/{id}': { id: 'replay', shows: true },
	'/v1/stats': { query: '?by=channel,status,priority,scope,serverId', shows: false },
	'/v1/audit-events': { shows: true },
	'/v1/outbox-entries': { shows: false },
	'/v1/mail-servers': { shows: false },
	'/v1/mail-servers/{id}': { id: 'server', shows: false },
	'/v1/mail-servers/{id}/state': { id: 'server', shows: false },
	'/v1/routes': { shows: false, platform: true },
	'/v1/tenants': { shows: false, platform: true },
	'/v1/tenants/{id}': { id: 'tenant', shows: false, platform: true },
	'/v1/tenants/{id}/quota': { id: 'tenant', shows: false, platform: true },
	'/v1/quota-usage': { shows: false },
	'/v1/api-keys': { shows: false },
	'/v1/api-keys/{id}': { id: 'key', shows: false },
};

beforeAll(async () => {
	api = await startApi();
	const { body } = await api.call('/openapi.json', { key: null });
	reads = Object.entries<object>(body.paths).flatMap(([path, methods]) => ('get' in methods ? [path] : []));
	const make = async (name: string, key: string, without: readonly Capability[]) => {
		const capabilities = CAPABILITIES.filter((one) => !without.includes(one));
		return (await api.call('/v1/api-keys', { key, body: { name, capabilities } })).body;
	};
	const sees = await make('sees', api.apiKey, ['platform']);
	keys.sees = sees.key;
	keys.blind = (await make('blind', api.apiKey, ['platform', 'content:read'])).key;
	keys.platformSees = (await make('sees', api.platformKey, [])).key;
	keys.platformBlind = (await make('blind', api.platformKey, ['content:read'])).key;
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'shop@example.com' } };
	const { body: made } = await api.call('/v1/mail-servers', { body: server });
	const mail = {
		...{ to: [ADDRESS, { address: 'ann@example.com', name: 'Zebra' }], cc: [`big.${ADDRESS}`], replyTo: ADDRESS },
		...{ subject: 'Zebra subject', text: 'zebra text', html: '<p>zebra</p>', headers: { 'X-Zebra': 'zebra' } },
		...{ metadata: { who: `for ${ADDRESS}`, [ADDRESS]: 'as a name' }, dedupeKey: `welcome ${ADDRESS}` },
		attachments: [{ filename: 'zebra.pdf', content: 'emVicmE=' }],
	};
	const message = (await api.call('/v1/mails', { body: mail })).body.id;
	await api.call(`/v1/messages/${message}:retry`, { body: { note: `ZEBRA called, from ${ADDRESS}` } });
	const letter = await plantAnswers(message);
	await api.call(`/v1/dead-letters/${letter}:resolve`, { body: { note: `ZEBRA called, from ${ADDRESS}` } });
	const envelope = Buffer.from(JSON.stringify({ v: 1, to: ADDRESS }));
	await archivePoisons(api.db.pool, [
		{ ...readPoison({ topic: 'mail-send-normal', messageId: 'm1', reason: `not for ${ADDRESS}`, payload: envelope }), channel: 'MAIL' },
	]);
	const poison = (await api.db.prisma.deadLetterMessage.findFirstOrThrow({ where: { messageId: 'm1' } })).id;
	const wish = { filter: { text: 'zebra' }, note: `for ${ADDRESS}` };
	const replay = (await api.call('/v1/dead-letter-replays', { body: wish })).body.id;
	ids = { message, letter, replay, poison, server: made.id, tenant: api.tenantId, key: sees.id };
});
afterAll(async () => await api.stop());

/** What a provider said about a message, and a closed and an open letter about it. Returns the open one. */
async function plantAnswers(id: string): Promise<string> {
	const { pool, prisma } = api.db;
	const tenantId = api.tenantId;
	await pool.query(`update send_recipient set outcome = 'REFUSED', answer = $2 where id = $1`, [
		id,
		`550 <${ADDRESS}>: no user ZEBRA here`,
	]);
	await pool.query(
		`insert into delivery_attempt (id, attempt_no, tenant_id, provider, worker, started_at, outcome, category, stage, code, answer)
		values ($1, 1, $2, 'smtp', 'w', now(), 'REFUSED', 'PERMANENT', 'RCPT', '550', $3)`,
		[id, tenantId, `550 zebra (${ADDRESS.toUpperCase()}) unknown`],
	);
	const letter = { tenantId, recordId: id, channel: 'MAIL', source: 'SEND_EXHAUSTED', error: `no Zebra at ${ADDRESS}` };
	await prisma.deadLetterMessage.create({
		data: {
			...letter,
			id: newId(),
			status: 'RESOLVED',
			closedAt: new Date(),
			resolution: 'retried',
			actor: 'key:1',
			note: `told ${ADDRESS} (zebra)`,
		},
	});
	return (await prisma.deadLetterMessage.create({ data: { ...letter, id: newId() } })).id;
}

async function read(path: string, who: 'sees' | 'blind', spell = (id: string) => id): Promise<{ status: number; text: string }> {
	const row = READS[path];
	const key = row?.platform === true ? (who === 'sees' ? keys.platformSees : keys.platformBlind) : keys[who];
	const { status, body } = await api.call(path.replace('{id}', spell(ids[row?.id ?? 'message'])) + (row?.query ?? ''), { key });
	return { status, text: JSON.stringify(body) };
}

test('every read of the document is in the table', () => {
	expect(reads.sort()).toEqual(Object.keys(READS).sort());
});

test.each(Object.keys(READS))('without content:read no address and no content is met in %s', async (path) => {
	const row = READS[path];
	if (row === null || row === undefined) return;
	const sees = await read(path, 'sees');
	expect([sees.status, MARKER.test(sees.text)]).toEqual([200, row.shows !== false]);
	const blind = await read(path, 'blind');
	expect([blind.status, MARKER.exec(blind.text)]).toEqual([row.shows === 'content' ? 403 : 200, null]);
	const shouted = await read(path, 'blind', (id) => id.toUpperCase());
	expect(MARKER.exec(shouted.text)).toBeNull();
	if (row.shows === true) expect(blind.text).toMatch(/z•••@crossing\.example/i);
});

test('the envelope and the error of a poison letter, which the platform sees, are masked too', async () => {
	for (const path of ['/v1/dead-letters', `/v1/dead-letters/${ids.poison}`]) {
		expect(JSON.stringify((await api.call(path, { key: keys.platformSees })).body)).toMatch(MARKER);
		const { status, body } = await api.call(path, { key: keys.platformBlind });
		expect([status, MARKER.exec(JSON.stringify(body))]).toEqual([200, null]);
	}
});

test('acts on dead letters answer the letter as it may be seen', async () => {
	const letter = {
		tenantId: api.tenantId,
		recordId: ids.message,
		channel: 'MAIL',
		source: 'SEND_EXHAUSTED',
		error: `no Zebra at ${ADDRESS}`,
	};
	const { id } = await api.db.prisma.deadLetterMessage.create({ data: { ...letter, id: newId() } });
	const { status, body } = await api.call(`/v1/dead-letters/${id}:discard`, { key: keys.blind, body: { note: `told ${ADDRESS}, zebra` } });
	expect([status, MARKER.exec(JSON.stringify(body)), body.note]).toEqual([200, null, expect.stringContaining('z•••@crossing.example')]);
});

test('acts answer the message as it may be seen', async () => {
	for (const act of [':retry', ':cancel']) {
		const { status, body } = await api.call(`/v1/messages/${ids.message}${act}`, { method: 'POST', key: keys.blind });
		expect([act, status, MARKER.exec(JSON.stringify(body))]).toEqual([act, 200, null]);
	}
});
