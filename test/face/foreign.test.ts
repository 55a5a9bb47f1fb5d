import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../harness/api.js';
import { createRecipes, type Owner, type Recipe } from '../harness/recipes.js';
import { changesOf, createReadRows, type RowMarks } from '../harness/row-marks.js';
import { makeTenants } from './callers.js';
import { type Documented, freshExample, readFace } from './operations.js';
import { ROWS } from './rules.js';

let api: TestApi;
let other: Owner;
let operations: ReadonlyMap<string, Documented>;
let recipes: Readonly<Record<string, Recipe>>;
let readRows: () => Promise<RowMarks>;
/** What the first tenant has, to be named by another. */
let serverId: string;
let messageId: string;

const byKind = (...kinds: string[]): string[] => Object.keys(ROWS).filter((one) => kinds.includes(ROWS[one]?.kind ?? ''));
const LISTS = byKind('list').filter((one) => !['getStats', 'getQuotaUsage'].includes(one));

beforeAll(async () => {
	api = await startApi();
	const tenants = await makeTenants(api);
	other = tenants.other;
	recipes = createRecipes(api, tenants.first);
	operations = new Map((await readFace(api)).operations.map((one) => [one.operationId, one]));
	readRows = await createReadRows(api.db);
	serverId = (await recipes['getMailServer']?.())?.id ?? '';
	// Two of everything, so that each list has a second page.
	for (const one of ['getMailServer', ...['getDeadLetter', 'getDeadLetterReplay', 'requeueOutboxEntry'].flatMap((twice) => [twice, twice])])
		await recipes[one]?.();
	const mail = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', type: 'a.type', metadata: { orderNo: 'A-17' } };
	messageId = (await api.call('/v1/mails', { body: mail })).body.id;
	for (const key of [api.apiKey, other.apiKey])
		for (const name of ['one', 'two']) await api.call('/v1/api-keys', { key, body: { name, capabilities: ['messages:read'] } });
});
afterAll(async () => await api.stop());

const pathOf = (operationId: string): string => operations.get(operationId)?.path ?? '';
const read = async (path: string, key: string, headers: Record<string, string> = {}) => await api.call(path, { key, headers });

test.each(LISTS)('%s shows to a cursor that another tenant was given only what is one’s own', async (operationId) => {
	const path = pathOf(operationId);
	const [mine, theirs] = [(await read(`${path}?limit=200`, api.apiKey)).body, (await read(`${path}?limit=200`, other.apiKey)).body];
	const ids = new Set(mine.data.map((one: { id: string }) => one.id));
	expect(ids.size).toBeGreaterThan(0);
	const cursor = (await read(`${path}?limit=1`, api.apiKey)).body.nextCursor;
	expect(cursor).toEqual(expect.any(String));
	const { status, body } = await read(`${path}?cursor=${cursor}`, other.apiKey);
	expect([status, body.data.filter((row: { id: string }) => ids.has(row.id))]).toEqual([200, []]);
	expect(theirs.data.filter((row: { id: string }) => ids.has(row.id))).toEqual([]);
});

test.each<[string, () => string]>([
	['listMessages', () => '?recipient=ann@example.com'],
	['listMessages', () => '?metadata.orderNo=A-17'],
	['listMessages', () => '?type=a.type'],
	['listMessages', () => '?status=PENDING'],
	['listMessages', () => '?channel=MAIL'],
	['listDeadLetters', () => '?text=no'],
	['listDeadLetters', () => '?source=SEND_EXHAUSTED'],
	['listOutboxEntries', () => '?status=DEAD'],
	['listAuditEvents', () => `?subjectId=${serverId}`],
	['listAuditEvents', () => '?subjectType=mail-server&action=mail-server.'],
])('%s finds by no filter what another tenant has', async (operationId, query) => {
	const path = pathOf(operationId) + query();
	const mine = (await read(path, api.apiKey)).body.data.map((one: { id: string }) => one.id);
	const theirs = (await read(path, other.apiKey)).body.data.map((one: { id: string }) => one.id);
	expect(mine.length).toBeGreaterThan(0);
	expect(theirs.filter((id: string) => mine.includes(id))).toEqual([]);
});

test('statistics count nothing of another tenant, by whatever is counted', async () => {
	const { body } = await read('/v1/stats?by=serverId,type,status', other.apiKey);
	expect(body.data).toEqual([]);
	expect((await read('/v1/stats?by=serverId,type,status', api.apiKey)).body.data.length).toBeGreaterThan(0);
});

test.each(byKind('one', 'submit by'))(
	'%s does not find another tenant’s thing, however its id is written, and writes nothing',
	async (operationId) => {
		const operation = operations.get(operationId);
		const ready = await recipes[operationId]?.();
		const before = await readRows();
		for (const id of [ready?.id ?? '', ready?.id?.toUpperCase() ?? '', messageId, serverId]) {
			const answer = await api.call(pathOf(operationId).replace('{id}', id), {
				method: operation?.method ?? '',
				key: other.apiKey,
				headers: { 'if-match': '*' },
				...(operation?.schema === null ? {} : { body: freshExample(operation as Documented) }),
			});
			expect([answer.status, answer.body.code]).toEqual([404, 'not-found']);
		}
		expect(changesOf(before, await readRows())).toEqual([]);
	},
);

test('a mail cannot be pinned to another tenant’s server, nor can one item of a batch', async () => {
	const before = await readRows();
	const mail = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', serverId };
	const one = await api.call('/v1/mails', { key: other.apiKey, body: mail });
	expect(one.body).toMatchObject({ status: 422, errors: [{ pointer: '/serverId', code: 'server-unknown' }] });
	const batch = await api.call('/v1/mails:batch', { key: other.apiKey, body: { items: [{ ...mail, serverId: undefined }, mail] } });
	expect(batch.body).toMatchObject({ status: 422, errors: [{ pointer: '/items/1/serverId', code: 'server-unknown' }] });
	expect(changesOf(before, await readRows())).toEqual([]);
});

test.each(LISTS)('K28 %s ignores X-Tenant-Id and other headers that would name a tenant', async (operationId) => {
	const path = pathOf(operationId);
	const plain = (await read(path, other.apiKey)).body;
	for (const name of ['x-tenant-id', 'x-tenant', 'tenant-id', 'tidings-tenant-id']) {
		expect((await read(path, other.apiKey, { [name]: api.tenantId })).body).toEqual(plain);
	}
});

test.each(Object.keys(ROWS))('%s refuses a tenantId in its body and in its query, and writes nothing', async (operationId) => {
	const operation = operations.get(operationId);
	if (operation === undefined) throw new Error('no operation');
	const ready = await recipes[operationId]?.();
	const key = ROWS[operationId]?.needs === 'platform' ? api.platformKey : api.apiKey;
	const path = operation.path.replace('{id}', ready?.id ?? newId());
	const headers: Record<string, string> = ready?.etag == null ? {} : { 'if-match': ready.etag };
	const before = await readRows();
	const send = async (query: string, more: object) => {
		const body = operation.schema === null ? {} : { body: { ...(freshExample(operation) as object), ...more } };
		return await api.call(path + query, { method: operation.method, key, headers, ...body });
	};
	const asked = await send(`?tenantId=${api.tenantId}`, {});
	expect([asked.status, asked.body.code]).toEqual([400, 'malformed-request']);
	if (operation.schema !== null) {
		const told = await send('', { tenantId: api.tenantId });
		expect(told.body).toMatchObject({ status: 422, errors: [{ pointer: '/tenantId', code: 'unknown-field' }] });
	}
	expect(changesOf(before, await readRows())).toEqual([]);
});
