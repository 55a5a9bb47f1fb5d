import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId, Problem } from '@tidings/model';
import { createLogger, createMetrics, currentSpan, tracingPart } from '@tidings/telemetry';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { eventually } from '../../../../test/harness/eventually.js';
import { type CollectedSpan, type OtlpCollector, startCollector } from '../../../../test/harness/otlp-collector.js';
import { operation } from './operation.js';
import { createHttpServer } from './server.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const MARK = 'zoemark@example.com';

const lines: Record<string, unknown>[] = [];
const log = createLogger({ service: 'demo', level: 'debug', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
const tracing = tracingPart({ service: 'demo', version: '1', log, drainSeconds: 10 });
const home = { id: newId(), kind: 'TENANT' as const, status: 'ACTIVE' as const, settings: {} };
let collector: OtlpCollector;
let app: FastifyInstance;

const base = { tag: 'Things', summary: 'A thing', access: 'messages:send', answers: { 200: Type.Object({ ok: Type.Boolean() }) } } as const;
const operations = [
	operation({
		...base,
		method: 'POST',
		path: '/v1/things',
		operationId: 'makeThing',
		body: Type.Object({ name: Type.String() }),
		example: {},
		handle: async (request) => {
			log.info('inside');
			if ((request.body as { name: string }).name === 'broken') throw new Error(`broken by ${MARK}`);
			await new Promise(setImmediate);
			return { ok: currentSpan()?.traceparent === request.trace.traceparent };
		},
	}),
	operation({
		...base,
		method: 'GET',
		path: '/v1/things/{id}',
		operationId: 'getThing',
		query: Type.Object({ recipient: Type.Optional(Type.String()) }),
		example: {},
		handle: () => {
			throw new Problem('not-found', `nothing for ${MARK}`);
		},
	}),
];

beforeAll(async () => {
	collector = await startCollector();
	Object.assign(process.env, collector.env);
	await tracing.start();
	app = await createHttpServer({
		log,
		metrics: createMetrics({ service: 'demo', version: '1', processMetrics: false }),
		info: { title: 'Demo', version: '1', description: 'A demo.', tags: [] },
		schemas: [],
		operations,
		isAway: () => false,
		credentials: {
			findCredential: async (keyId) => ({
				keyId,
				secretSha256: Buffer.from('right'),
				tenant: home,
				capabilities: ['messages:send'],
				expiresAt: null,
				revokedAt: null,
			}),
			findTenant: async () => null,
			parseKey: () => ({ keyId: 'k', secret: 'right' }),
			matchesSecret: () => true,
		},
	});
});
afterAll(async () => {
	await app.close();
	await tracing.stop();
	await collector.close();
	for (const name of Object.keys(collector.env)) delete process.env[name];
});

async function call(method: 'GET' | 'POST', url: string, body?: object, headers: Record<string, string> = { traceparent: TRACEPARENT }) {
	const before = collector.spans.length;
	const answer = await app.inject({
		method,
		url,
		headers: { authorization: 'Bearer key', ...headers },
		...(body === undefined ? {} : { payload: body }),
	});
	const span = await eventually((): CollectedSpan | undefined => collector.spans[before]);
	return { answer, span };
}

test('a request is one SERVER step of the trace that its traceparent names', async () => {
	const { answer, span } = await call('POST', '/v1/things', { name: 'x' });
	expect(answer.json()).toEqual({ ok: true });
	expect(answer.headers['tidings-trace-id']).toBe(TRACE);
	expect(span).toMatchObject({
		name: 'POST /v1/things',
		kind: 2,
		traceId: TRACE,
		parentSpanId: CALLER,
		service: 'tidings-demo',
		status: 0,
	});
	expect(span.attributes).toMatchObject({
		'http.request.method': 'POST',
		'http.route': '/v1/things',
		'url.path': '/v1/things',
		'http.response.status_code': 200,
		'tidings.tenant.id': home.id,
	});
	const ids = { traceId: TRACE, spanId: span.spanId };
	expect(lines.find((line) => line['msg'] === 'inside')).toMatchObject(ids);
	expect(lines.find((line) => line['msg'] === 'request')).toMatchObject(ids);
	expect(collector.spans.filter((one) => one.traceId === TRACE)).toHaveLength(1);
});

test('without a traceparent, and with a malformed one, the step begins a trace that the answer names', async () => {
	for (const headers of [{}, { traceparent: '00-nonsense' }] as Record<string, string>[]) {
		const { answer, span } = await call('POST', '/v1/things', { name: 'x' }, headers);
		expect(span.parentSpanId).toBe('');
		expect(answer.headers['tidings-trace-id']).toBe(span.traceId);
	}
});

test('a failure is an error of the step by its code alone; what the caller got wrong is none', async () => {
	const broken = await call('POST', '/v1/things', { name: 'broken' });
	expect(broken.answer.json()).toMatchObject({ status: 500, traceId: TRACE });
	expect(broken.span).toMatchObject({ status: 2, attributes: { 'error.type': 'internal-error', 'http.response.status_code': 500 } });
	const absent = await call('GET', `/v1/things/${home.id}?recipient=${MARK}`);
	expect(absent.answer.json()).toMatchObject({ status: 404, traceId: TRACE });
	expect(absent.span).toMatchObject({
		name: 'GET /v1/things/{id}',
		status: 0,
		attributes: { 'url.path': `/v1/things/${home.id}`, 'http.response.status_code': 404 },
	});
	expect(absent.span.attributes).not.toHaveProperty('error.type');
});

test('no address gets into a step: not by query, id, unknown path or error', async () => {
	for (const url of [`/v1/things/${MARK}`, `/v1/${MARK}`, `/v1/things/${home.id}?recipient=${MARK}`]) await call('GET', url);
	const unknown = collector.spans.find((span) => span.name === 'GET');
	expect(unknown).toMatchObject({ attributes: { 'http.response.status_code': 404 } });
	expect(collector.spans.filter((span) => span.parentSpanId === unknown?.spanId)).toEqual([]);
	expect(collector.raw().includes('zoemark')).toBe(false);
	expect(JSON.stringify(lines).includes('zoemark')).toBe(false);
});
