import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseBatch } from '@tidings/db';
import { monotonic, newId } from '@tidings/model';
import { countRows, startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';

let api: TestApi;
/** Another process on the same database: it hears of what `api` changes only later. */
let node: TestApi;
beforeAll(async () => {
	api = await startApi();
	node = await startApi({ databaseUrl: api.databaseUrl, keys: api });
});
afterAll(async () => {
	await node.stop();
	await api.stop();
});

const SERVER = { name: 's', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'a@shop.example' } };
const MAIL = JSON.stringify({ to: ['ann@example.com'], subject: 'Hi', text: 'Hi' });

async function makeTenant(): Promise<{ id: string; key: string; keyId: string }> {
	const { id } = (await api.call('/v1/tenants', { key: api.platformKey, body: { name: `tenant ${newId()}` } })).body;
	const there = { key: api.platformKey, headers: { 'tidings-tenant': id } };
	const capabilities = ['messages:send', 'messages:read', 'messages:act', 'dead-letters:triage', 'providers:write', 'tenant:admin'];
	const { key, id: keyId } = (await api.call('/v1/api-keys', { ...there, body: { name: 'k', capabilities } })).body;
	expect((await api.call('/v1/mail-servers', { ...there, body: SERVER })).status).toBe(201);
	return { id, key, keyId };
}

/** Sends all of a mail but the end of its body; `end` sends that, and answers the status. */
async function beginMail({ origin }: TestApi, key: string): Promise<{ end(): Promise<number> }> {
	const { hostname, port } = new URL(origin);
	const socket = connect(Number(port), hostname);
	let answer = '';
	socket.setEncoding('utf8').on('data', (text) => {
		answer += text;
	});
	const head = ['POST /v1/mails HTTP/1.1', `Host: ${hostname}`, `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
	socket.write(`${[...head, `Content-Length: ${MAIL.length}`, 'Expect: 100-continue'].join('\r\n')}\r\n\r\n`);
	await eventually(() => answer.includes('100 Continue'), { what: 'the request to be let in' });
	answer = '';
	// Only a body that takes its time is judged anew.
	const began = monotonic();
	await eventually(() => monotonic() - began > 1_050, { what: 'the body to be late' });
	return {
		end: async () => {
			socket.write(MAIL);
			const status = await eventually(() => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? null, { what: 'an answer' });
			socket.destroy();
			return Number(status);
		},
	};
}

const leftOf = async (tenantId: string): Promise<string[]> => {
	const { rows } = await api.db.pool.query(
		`select table_name as name from information_schema.columns where column_name = 'tenant_id' and table_schema = 'public' and table_name <> 'audit_event'`,
	);
	const counts = await Promise.all(
		rows.map(async ({ name }: { name: string }) => {
			const { rowCount } = await api.db.pool.query(`select from ${name} where tenant_id = $1`, [tenantId]);
			return rowCount === 0 ? [] : [name];
		}),
	);
	return counts.flat();
};

async function erase({ id }: { id: string }): Promise<void> {
	const path = `/v1/tenants/${id}?queued=cancel`;
	expect((await api.call(path, { key: api.platformKey, method: 'DELETE', headers: { 'if-match': '*' } })).status).toBe(202);
	await eventually(async () => (await eraseBatch(api.db.pool, id, 0)) === 'done', { what: 'the tenant to be erased' });
}

test('a mail whose body arrives when its tenant is suspended is refused, although the request came before', async () => {
	const tenant = await makeTenant();
	const mail = await beginMail(api, tenant.key);
	expect((await api.call(`/v1/tenants/${tenant.id}:suspend`, { key: api.platformKey, body: {} })).status).toBe(200);
	expect(await mail.end()).toBe(403);
});

test('a mail whose body arrives when its key is revoked, or its tenant erased, is refused, and leaves nothing', async () => {
	const tenant = await makeTenant();
	const [revoked, late] = [await beginMail(api, tenant.key), await beginMail(api, (await makeTenant()).key)];
	const path = `/v1/api-keys/${tenant.keyId}`;
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	expect((await api.call(`${path}:revoke`, { ...there, method: 'POST' })).status).toBe(200);
	expect(await revoked.end()).toBe(401);
	expect(await late.end()).toBe(202);

	const third = await makeTenant();
	const mail = await beginMail(api, third.key);
	await erase(third);
	expect(await mail.end()).toBe(401);
	expect(await leftOf(third.id)).toEqual([]);
});

test('a credential that a node still remembers makes nothing for a tenant that is erased', async () => {
	const tenant = await makeTenant();
	const { key } = tenant;
	expect((await node.call('/v1/messages', { key })).status).toBe(200);
	await erase(tenant);
	expect((await node.call('/v1/mail-servers', { key, body: SERVER })).status).toBe(404);
	expect((await node.call('/v1/api-keys', { key, body: { name: 'back', capabilities: ['messages:read'] } })).status).toBe(404);
	expect(await leftOf(tenant.id)).toEqual([]);
});

test('a node that still takes a tenant for active sends nothing of it anew once its deletion is answered', async () => {
	const tenant = await makeTenant();
	const { key } = tenant;
	const send = async (): Promise<string> => (await api.call('/v1/mails', { key, body: JSON.parse(MAIL) })).body.id;
	/** Ends a message, and opens a letter about it. */
	const end = async (status: 'DEAD_LETTER' | 'HELD', source: string): Promise<{ id: string; letterId: string }> => {
		const id = await send();
		await api.db.pool.query('delete from outbox_entry where id = $1', [id]);
		await api.db.pool.query(
			`update send_state set status = 'SENDING', version = version + 1, attempt_no = 1, due_at = null, lease_until = now(), claimed_at = now(), claimed_by = 'w' where id = $1`,
			[id],
		);
		await api.db.pool.query(
			`update send_state set status = $2, version = version + 1, budget_used = 5, lease_until = null, claimed_at = null, claimed_by = null, finished_at = case $2 when 'HELD' then null else now() end where id = $1`,
			[id, status],
		);
		const letterId = newId();
		await api.db.prisma.deadLetterMessage.create({
			data: { id: letterId, tenantId: tenant.id, source, recordId: id, channel: 'MAIL', error: 'no' },
		});
		return { id, letterId };
	};
	const [retried, replayed, held, many] = [
		await end('DEAD_LETTER', 'SEND_EXHAUSTED'),
		await end('DEAD_LETTER', 'SEND_EXHAUSTED'),
		await end('HELD', 'AMBIGUOUS'),
		await end('DEAD_LETTER', 'SEND_EXHAUSTED'),
	];
	const waiting = await send();
	expect((await node.call('/v1/messages', { key })).status).toBe(200);
	const path = `/v1/tenants/${tenant.id}?queued=deliver`;
	expect((await api.call(path, { key: api.platformKey, method: 'DELETE', headers: { 'if-match': '*' } })).status).toBe(202);
	const before = await countRows(api.db);
	const acts: readonly [string, object][] = [
		[`/v1/messages/${retried.id}:retry`, {}],
		[`/v1/messages/${waiting}:retry`, {}],
		[`/v1/messages/${held.id}:release`, { resolution: 'resend' }],
		[`/v1/dead-letters/${replayed.letterId}:replay`, {}],
		['/v1/dead-letter-replays', { ids: [many.letterId] }],
	];
	for (const [act, body] of acts)
		expect((await node.call(act, { key, body })).body).toMatchObject({ status: 403, code: 'tenant-not-active' });
	expect(await countRows(api.db)).toEqual(before);
	expect((await node.call(`/v1/messages/${held.id}:release`, { key, body: { resolution: 'delivered' } })).status).toBe(200);
});
