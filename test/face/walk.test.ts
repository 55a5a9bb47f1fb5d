import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ERRORS } from '@tidings/model';
import { type Answer, startApi, type TestApi } from '../harness/api.js';
import { createRecipes, type Ready, type Recipe } from '../harness/recipes.js';
import { changesOf, createReadRows, type RowMarks } from '../harness/row-marks.js';
import { startIssuer, type TokenIssuer } from '../harness/token-issuer.js';
import { type Caller, type Callers, makeCallers, makeTenants } from './callers.js';
import { type Documented, freshExample, readFace } from './operations.js';
import { EXCEPTIONS, type Expected, ROWS, type Row, ruleOf } from './rules.js';
import { expectedWrites, faultsOfWrites } from './writes.js';

/** Stands in whatever the first tenant has that others must not meet. */
const MARKER = 'zebra';

let issuer: TokenIssuer;
let api: TestApi;
let tenants: Awaited<ReturnType<typeof makeTenants>>;
let callers: Callers;
let recipes: Record<keyof typeof tenants, Readonly<Record<string, Recipe>>>;
let operations: ReadonlyMap<string, Documented>;
let readRows: () => Promise<RowMarks>;

beforeAll(async () => {
	issuer = await startIssuer({});
	const keys = { kind: 'jwks', url: issuer.jwksUrl } as const;
	const jwt = { issuer: issuer.issuer, audience: issuer.audience, tenantClaim: 'tenant_id', algorithms: ['RS256'], keys };
	api = await startApi({ callers: { jwt } });
	tenants = await makeTenants(api);
	callers = await makeCallers(api, issuer, tenants);
	const { first, other, halted, platform } = tenants;
	recipes = {
		first: createRecipes(api, first),
		other: createRecipes(api, other),
		halted: createRecipes(api, halted),
		platform: createRecipes(api, platform),
	};
	await api.call('/v1/mails', { body: { to: [`${MARKER}@example.com`], subject: MARKER, text: MARKER, type: MARKER } });
	await api.call('/v1/api-keys', { body: { name: MARKER, capabilities: ['messages:read'] } });
	operations = new Map((await readFace(api)).operations.map((one) => [one.operationId, one]));
	readRows = await createReadRows(api.db);
});
afterAll(async () => {
	await api.stop();
	await issuer.stop();
});

test('the table has a row for every operation of the document, and every row has an operation', () => {
	expect(Object.keys(ROWS).sort()).toEqual([...operations.keys()].sort());
	for (const [operationId, { needs }] of Object.entries(ROWS)) {
		const words = needs === null ? 'Needs no credential.' : `Needs the capability \`${needs}\`.`;
		expect([operationId, operations.get(operationId)?.description]).toEqual([operationId, expect.stringContaining(words)]);
		expect(Object.keys(recipes.first)).toContain(operationId);
	}
	const cells = Object.keys(ROWS).flatMap((operationId) => Object.keys(callers).map((caller) => `${operationId} as ${caller}`));
	expect(cells).toEqual(expect.arrayContaining(Object.keys(EXCEPTIONS)));
});

test.each(Object.keys(ROWS))('%s answers each caller what the table says, and writes only what it must', async (operationId) => {
	const row = ROWS[operationId];
	const operation = operations.get(operationId);
	if (row === undefined || operation === undefined) throw new Error(`there is no operation ${operationId}`);
	const cells = await walk(operation, row);
	expect(cells.filter((cell) => cell.faults.length > 0)).toEqual([]);
	expect(cells.map((cell) => cell.caller)).toEqual(Object.keys(callers));
});

type Cell = { readonly caller: string; readonly faults: readonly string[] };

/** Calls an operation as everybody. */
async function walk(operation: Documented, row: Row): Promise<Cell[]> {
	const cells: Cell[] = [];
	// What nobody may touch can be the same for all who may not.
	const standing = (await recipes.first[operation.operationId]?.()) ?? {};
	for (const [name, caller] of Object.entries(callers)) {
		const expected = EXCEPTIONS[`${operation.operationId} as ${name}`] ?? ruleOf(row, caller.standing);
		const isChanged = expected.code === null && operation.method !== 'GET';
		const owner = caller.halt === undefined ? 'first' : 'halted';
		const ready = isChanged || caller.halt !== undefined ? ((await recipes[owner][operation.operationId]?.()) ?? {}) : standing;
		cells.push({ caller: name, faults: await call(operation, row, { caller, ready, expected }) });
	}
	return cells;
}

/** Calls an operation as one; answers what is not as expected. */
async function call(
	operation: Documented,
	row: Row,
	{ caller, ready, expected }: { caller: Caller; ready: Ready; expected: Expected },
): Promise<string[]> {
	const { operationId, method, schema } = operation;
	const isOperators = row.kind === 'tenant' || row.kind === 'tenants';
	const headers = { ...(await caller.show(row)), ...(ready.etag == null ? {} : { 'if-match': ready.etag }) };
	const body = freshExample(operation);
	await halt(caller.halt);
	const before = await readRows();
	const path = operation.path.replace('{id}', ready.id ?? '');
	const answer = await api.call(path, { method, key: null, headers, ...(schema === null ? {} : { body }) });
	const changes = changesOf(before, await readRows());
	await release(caller.halt);
	const written = { body, answer, isKeyed: false, etag: ready.etag ?? null };
	const tenantId = isOperators ? (ready.id ?? answer.body?.id) : tenants[caller.home ?? 'first'].tenantId;
	return [
		...faultsOfAnswer(answer, row, expected),
		...(isOperators || row.kind === 'open' ? [] : faultsOfSight(answer, caller.standing)),
		...faultsOfWrites(changes, tenantId, expected.code === null ? expectedWrites(operationId, written) : {}),
	];
}

/** Halts the tenant that is for it, as the operator. */
async function halt(act: 'suspend' | 'delete' | undefined): Promise<void> {
	const path = `/v1/tenants/${tenants.halted.tenantId}`;
	if (act === 'suspend') await api.call(`${path}:suspend`, { method: 'POST', key: api.platformKey });
	if (act === 'delete') await api.call(path, { method: 'DELETE', key: api.platformKey, headers: { 'if-match': '*' } });
}

async function release(act: 'suspend' | 'delete' | undefined): Promise<void> {
	if (act !== undefined) await api.call(`/v1/tenants/${tenants.halted.tenantId}:resume`, { method: 'POST', key: api.platformKey });
}

/** `call` has compared the answer with the document already. */
function faultsOfAnswer({ status, headers, body }: Answer, row: Row, { code, names = '' }: Expected): string[] {
	const wanted = code === null ? row.success : ERRORS[code].status;
	const faults = [status === wanted ? '' : `answered ${status} ${body?.code ?? ''} ${body?.detail ?? ''}, not ${wanted} ${code ?? ''}`];
	if (code !== null) {
		faults.push(
			body?.code === code ? '' : `the code is ${body?.code}, not ${code}`,
			String(body?.detail).includes(names) ? '' : `the detail does not name ${names}: ${body?.detail}`,
			headers.get('content-type') === 'application/problem+json' ? '' : `the content type is ${headers.get('content-type')}`,
			(status === 401) === (headers.get('www-authenticate')?.startsWith('Bearer') ?? false) ? '' : 'WWW-Authenticate is not right',
		);
	}
	return faults.filter((fault) => fault !== '');
}

/** Whoever is not of the first tenant sees nothing of it, but the path that they sent. */
function faultsOfSight({ body }: Answer, standing: string): string[] {
	if (standing === 'owner' || standing === 'operator for the owner' || body === null) return [];
	const text = JSON.stringify({ ...body, instance: '' });
	return [MARKER, api.tenantId].filter((secret) => text.includes(secret)).map((secret) => `shows ${secret}: ${text.slice(0, 300)}`);
}
