import { randomInt } from 'node:crypto';
import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ERRORS, newId } from '@tidings/model';
import fc from 'fast-check';
import { startApi, type TestApi } from '../harness/api.js';
import { createConform } from '../harness/conform.js';
import { createRecipes, makeServer, type Ready, type Recipe } from '../harness/recipes.js';
import { changesOf, createReadRows, type RowMarks } from '../harness/row-marks.js';
import { RAW_BODIES } from './mutations.js';
import { type Documented, type Face, readFace } from './operations.js';
import { type Probe, probesOf, rightProbe } from './probes.js';
import { ROWS } from './rules.js';
import { SECRET_MARKER } from './schema-values.js';
import { type Reply, type Sent, sendAsIs } from './send.js';
import { expectedWrites, faultsOfWrites } from './writes.js';

/** Requests to each operation, and where the dice begin: TIDINGS_FUZZ_RUNS (default 40) and TIDINGS_FUZZ_SEED (default: another one each time, which is printed). */
const RUNS = Number(process.env['TIDINGS_FUZZ_RUNS'] ?? 40);
const SEED = Number(process.env['TIDINGS_FUZZ_SEED'] ?? randomInt(2 ** 31));

/** What must not stand in an answer: words of the machinery, and secrets. */
const LEAKS =
	/node_modules|\bat [\w.<>]+ \(|\.[jt]s:\d|prisma|postgres|\bpg_|sqlstate|violates|duplicate key|syntax error|insert into|select .+ from |FST_|\bajv\b|TypeError|RangeError|Unexpected token|ECONN|\/work\/|\/usr\/|undefined|\[object /i;

let api: TestApi;
let face: Face;
let recipes: Readonly<Record<string, Recipe>>;
let readRows: () => Promise<RowMarks>;
let conforms: ReturnType<typeof createConform>;
let rows: RowMarks;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const statuses = new Map<string, number>();

beforeAll(async () => {
	process.stdout.write(`fuzz: TIDINGS_FUZZ_SEED=${SEED} TIDINGS_FUZZ_RUNS=${RUNS}\n`);
	api = await startApi();
	await makeServer(api, api);
	await makeServer(api, { apiKey: api.platformKey });
	face = await readFace(api);
	conforms = createConform((await api.call('/openapi.json', { key: null })).body);
	recipes = createRecipes(api, api);
	readRows = await createReadRows(api.db);
});
afterAll(async () => {
	agent.destroy();
	await api.stop();
});

test.each(Object.keys(ROWS))(
	'whatever is sent to %s is answered as the document says, leaks nothing, and writes all or nothing',
	async (operationId) => {
		const operation = face.operations.find((one) => one.operationId === operationId);
		if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
		const state = { ready: await prepare(operation) };
		const property = fc.asyncProperty(probesOf(operation, face), async (probe) => {
			const faults = await run(operation, probe, state);
			if (faults.length > 0) throw new Error(faults.join('\n'));
		});
		await fc.assert(property, {
			numRuns: RUNS,
			examples: [[rightProbe(operation)]],
			seed: SEED + Object.keys(ROWS).indexOf(operationId),
			interruptAfterTimeLimit: 40_000 + RUNS * 500,
		});
	},
	60_000 + RUNS * 1_000,
);

test('nothing of all that was an error inside, and much of it was accepted', () => {
	const errors = api.log.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
	expect(errors).toEqual([]);
	expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
	const quiet = Object.keys(ROWS).filter((operationId) => (statuses.get(`${operationId} 2`) ?? 0) === 0);
	expect(quiet).toEqual([]);
});

/** Makes a thing for an operation to be called with, and looks at all rows. */
async function prepare({ operationId }: Documented): Promise<Ready> {
	// A tenant has so many servers at most, and this makes more.
	if (operationId.endsWith('MailServer')) await api.db.pool.query('delete from mail_send_server_config where not is_default');
	const ready = (await recipes[operationId]?.()) ?? {};
	rows = await readRows();
	return ready;
}

async function run(operation: Documented, probe: Probe, state: { ready: Ready }): Promise<string[]> {
	const sent = requestOf(operation, probe, state.ready);
	const reply = await sendAsIs(api.origin, agent, sent);
	const before = rows;
	rows = await readRows();
	const changes = changesOf(before, rows);
	// The same path may have another method, which is another operation.
	const path = sent.path.split('?', 1)[0] ?? '';
	const called = face.operations.find((one) => one.method === sent.method && patternOf(one.path).test(path));
	const isAccepted = reply.status < 300 && called !== undefined && sent.method !== 'HEAD';
	const key = `${operation.operationId} ${isAccepted && called === operation ? 2 : 4}`;
	statuses.set(key, (statuses.get(key) ?? 0) + 1);
	const written = { body: jsonOf(sent), isKeyed: 'idempotency-key' in sent.headers, etag: state.ready.etag ?? null, answer: reply };
	const wanted = isAccepted ? expectedWrites(called.operationId, written) : {};
	const faults = [
		...faultsOfReply(sent, reply),
		...conforms(sent.method, sent.path, reply),
		...faultsOfWrites(changes, changes[0]?.tenantId ?? '', wanted),
	];
	if (changes.length > 0) state.ready = await prepare(operation);
	return faults.map((fault) => `${sent.method} ${sent.path.slice(0, 200)} ${reply.status} ${reply.text.slice(0, 300)}: ${fault}`);
}

function requestOf(operation: Documented, probe: Probe, { id = '', etag }: Ready): Sent {
	const isPlatforms = ROWS[operation.operationId]?.needs === 'platform';
	const { 'tidings-tenant': named, ...others } = probe.headers;
	// Only the platform can name a tenant.
	const key = isPlatforms || named !== undefined ? api.platformKey : api.apiKey;
	const rights: Record<string, string> = { 'if-match': etag ?? '*' };
	const headers = Object.entries(others).map(([name, value]) => {
		if (name === 'authorization') return [name, value.replace('right', key)];
		return [name, value === 'right' ? (rights[name] ?? '') : value];
	});
	if (named !== undefined) headers.push(['tidings-tenant', named === 'right' ? api.tenantId : named]);
	const body = bodyOf(operation, probe);
	const query = probe.query.length === 0 ? '' : `?${probe.query.join('&')}`;
	const place = probe.id.replace('right', id).replace('RIGHT', id.toUpperCase());
	return {
		method: probe.method,
		path: operation.path.replace('{id}', place) + query,
		headers: Object.fromEntries(headers.filter(([name]) => body !== null || name !== 'content-type')),
		body,
	};
}

function bodyOf({ operationId }: Documented, { body }: Probe): Buffer | null {
	if (body === null) return null;
	if ('raw' in body) return RAW_BODIES[body.raw]?.() ?? null;
	return Buffer.from(UNIQUE.test(operationId) && body.text.length < 10_000 ? withFreshName(body.text) : body.text);
}

/** Operations whose `name` is unique. */
const UNIQUE = /^(create|change)(Tenant|MailServer)$/;

/** The same body with a name that is new each time, unless its name is wrong. */
function withFreshName(text: string): string {
	const value: unknown = text === '' ? null : JSON.parse(text);
	if (typeof value !== 'object' || value === null || !('name' in value) || typeof value.name !== 'string') return text;
	if (value.name === '' || value.name.length > 60) return text;
	return JSON.stringify(Object.assign(value, { name: `${value.name.slice(0, 40)} ${newId()}` }));
}

function jsonOf({ body }: Sent): unknown {
	try {
		return JSON.parse(body?.toString() ?? '');
	} catch {
		return {};
	}
}

function faultsOfReply(sent: Sent, { status, headers, text, body }: Reply): string[] {
	const row = Object.entries(ERRORS).find(([code]) => code === body?.code)?.[1];
	const isProblem = headers.get('content-type') === 'application/problem+json' && row?.status === status;
	const leak = LEAKS.exec(status < 400 || sent.method === 'HEAD' ? '' : JSON.stringify({ ...body, instance: '' }));
	const secrets = [api.apiKey, api.platformKey].map((key) => key.split('_').slice(2).join('_'));
	return [
		status >= 500 ? `the status is of the server: ${api.log.findLast((line) => line.includes('"err"'))}` : '',
		status >= 400 && sent.method !== 'HEAD' && !isProblem ? 'it is no problem of the catalogue' : '',
		leak === null ? '' : `it leaks ${leak[0]}`,
		...[...secrets, SECRET_MARKER].map((secret) => (text.includes(secret) ? 'it holds a secret' : '')),
	].filter((fault) => fault !== '');
}

function patternOf(path: string): RegExp {
	return new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^:/]+')}$`);
}
