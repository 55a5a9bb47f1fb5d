import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { OUTBOX_CHANNEL } from '@tidings/db';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { eventually } from '../../../test/harness/eventually.js';

let api: TestApi;
let operator: string;
let ids: string[];

beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
	operator = (await api.call('/v1/api-keys', { body: { name: 'operator', capabilities: ['outbox:requeue'] } })).body.key;
});
beforeEach(async () => {
	const items = Array.from({ length: 4 }, (_, n) => ({ to: [`ann${n}@example.com`], subject: `Mail ${n}`, text: 'Hi' }));
	ids = (await api.call('/v1/mails:batch', { body: { items } })).body.ids;
	const [dead, out, published] = ids;
	await api.db.pool.query(`update outbox_entry set status = 'PUBLISHING', taken = true, lease_until = now() where id = any($1)`, [
		[dead, out, published],
	]);
	await api.db.pool.query(`update outbox_entry set status = 'DEAD', taken = null, lease_until = null, refusals = 10 where id = $1`, [dead]);
	await api.db.pool.query(`update outbox_entry set status = 'PUBLISHED', published_at = now() where id = $1`, [published]);
});
afterAll(async () => await api.stop());

const list = async (query = ''): Promise<string[]> =>
	(await api.call(`/v1/outbox-entries${query}`, { key: operator })).body.data.map((one: { id: string }) => one.id);
const requeue = async (id: string | undefined, call = {}) =>
	await api.call(`/v1/outbox-entries/${id}:requeue`, { method: 'POST', key: operator, ...call });

test('entries are listed newest first, by state and route, in pages', async () => {
	const newest = [...ids].reverse();
	expect(await list('?limit=4')).toEqual(newest);
	expect(await list('?status=DEAD&limit=1')).toEqual([ids[0]]);
	expect(await list('?status=PUBLISHING&limit=1')).toEqual([ids[1]]);
	expect(await list('?status=PUBLISHED&limit=1')).toEqual([ids[2]]);
	expect(await list('?status=NEW&limit=1')).toEqual([ids[3]]);
	expect(await list('?route=mail-send&limit=4')).toEqual(newest);
	expect(await list('?route=sms-send')).toEqual([]);
	const first = (await api.call('/v1/outbox-entries?limit=3', { key: operator })).body;
	expect(first.data[0]).toMatchObject({
		id: ids[3],
		status: 'NEW',
		route: 'mail-send',
		priority: 'normal',
		refusals: 0,
		publishedAt: null,
	});
	expect(await list(`?limit=1&cursor=${first.nextCursor}`)).toEqual([ids[0]]);
	for (const query of ['?status=LOST', '?route=', '?route=a%00', '?limit=0', '?cursor=x'])
		expect((await api.call(`/v1/outbox-entries${query}`, { key: operator })).status).toBe(400);
});

test('a message whose entry is dead says that it waits for an operator', async () => {
	const waitsFor = async (id = ''): Promise<unknown> => (await api.call(`/v1/messages/${id}`)).body.waitsFor;
	expect(await waitsFor(ids[0])).toEqual({ what: 'OUTBOX', reason: 'DEAD', detail: null, until: null });
	expect(await waitsFor(ids[1])).toBeNull();
	await requeue(ids[0]);
	expect(await waitsFor(ids[0])).toBeNull();
});

test('a dead entry becomes new and due now, the publishers are told, and the audit and the timeline say who did it', async () => {
	const [id = ''] = ids;
	const listener = await api.db.pool.connect();
	let told = 0;
	listener.on('notification', () => (told += 1));
	await listener.query(`listen ${OUTBOX_CHANNEL}`);
	await api.db.pool.query('update flow set next_at = null where tenant_id = $1', [api.tenantId]);
	const { status, body } = await requeue(id, { body: { note: 'the topic is there again' } });
	expect([status, body]).toEqual([200, expect.objectContaining({ id, status: 'NEW', refusals: 0 })]);
	await eventually(() => told > 0, { what: 'the publishers to be told' });
	listener.release(true);
	expect((await api.db.pool.query('select next_at <= now() as due from flow where tenant_id = $1', [api.tenantId])).rows).toEqual([
		{ due: true },
	]);
	const [event] = (await api.call(`/v1/audit-events?subjectId=${id}`)).body.data;
	expect(event).toMatchObject({
		action: 'outbox-entry.requeue',
		subjectType: 'outbox-entry',
		detail: { from: 'DEAD', to: 'NEW', refusals: '10', note: 'the topic is there again' },
	});
	expect((await api.call(`/v1/messages/${id}/timeline`)).body.data).toContainEqual(
		expect.objectContaining({ event: 'acted', actor: event.actor, action: 'outbox-entry.requeue', note: 'the topic is there again' }),
	);
});

test('only what is dead is requeued, and of several at once one is', async () => {
	for (const [id, state] of [
		[ids[1], 'PUBLISHING'],
		[ids[2], 'PUBLISHED'],
		[ids[3], 'NEW'],
	])
		expect(await requeue(id)).toMatchObject({
			status: 409,
			body: { code: 'state-conflict', detail: expect.stringContaining(state ?? '') },
		});
	const answers = await Promise.all([requeue(ids[0]), requeue(ids[0]), requeue(ids[0])]);
	expect(answers.map((one) => one.status).sort()).toEqual([200, 409, 409]);
	expect((await api.call(`/v1/audit-events?subjectId=${ids[0]}`)).body.data).toHaveLength(1);
});

test('what is not there, another tenant’s, without the capability or with a bad note is refused, and nothing changes', async () => {
	const { body: tenant } = await api.call('/v1/tenants', { key: api.platformKey, body: { name: `Other ${newId()}` } });
	const there = { key: api.platformKey, headers: { 'tidings-tenant': tenant.id } };
	expect((await requeue(ids[0], there)).status).toBe(404);
	expect((await api.call('/v1/outbox-entries', there)).body.data).toEqual([]);
	expect((await requeue(newId())).status).toBe(404);
	expect((await requeue('x')).status).toBe(404);
	const reader = (await api.call('/v1/api-keys', { body: { name: 'reader', capabilities: ['messages:read', 'messages:act'] } })).body.key;
	expect((await requeue(ids[0], { key: reader })).body.detail).toContain('`outbox:requeue`');
	expect((await api.call('/v1/outbox-entries', { key: reader })).status).toBe(403);
	expect((await requeue(ids[0], { body: { note: 'a\0', why: 1 } })).body.errors).toMatchObject([
		{ pointer: '/why', code: 'unknown-field' },
		{ pointer: '/note', code: 'control-character' },
	]);
	expect(await list('?status=DEAD&limit=1')).toEqual([ids[0]]);
});
