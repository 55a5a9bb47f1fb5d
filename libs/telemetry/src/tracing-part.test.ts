import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { type OtlpCollector, startCollector } from '../../../test/harness/otlp-collector.js';
import { createLogger } from './log.js';
import { currentSpan, detached, isTracing, startSpan } from './span.js';
import { tracingPart } from './tracing-part.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const options = { kind: 'client', attributes: {} } as const;

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).reverse()) await end();
	for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
});

async function start(env: Readonly<Record<string, string>>, drainSeconds = 10) {
	Object.assign(process.env, env);
	const lines: Record<string, unknown>[] = [];
	const log = createLogger({ service: 'demo', level: 'info', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
	const part = tracingPart({ service: 'demo', version: '1', log, drainSeconds });
	await part.start();
	return { part, log, lines };
}

async function collector(): Promise<OtlpCollector> {
	const started = await startCollector();
	ends.push(() => started.close());
	return started;
}

test('without an exporter a step records nothing and hands on the traceparent of its parent', async () => {
	const { part, log, lines } = await start({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
	const span = startSpan('send', TRACEPARENT, options);
	expect(isTracing()).toBe(false);
	expect(span.traceparent).toBe(TRACEPARENT);
	expect(span.spanId).toBeUndefined();
	expect(span.child('below', options).traceparent).toBe(TRACEPARENT);
	span.run(() => {
		expect(currentSpan()).toBeNull();
		log.info('inside');
	});
	span.end();
	await part.stop();
	expect(lines).toEqual([expect.not.objectContaining({ traceId: expect.anything() })]);
});

test('steps arrive at the collector under their parents, and log lines inside them carry their ids', async () => {
	const { env, spans } = await collector();
	const { part, log, lines } = await start({ ...env, OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test' });
	const outer = startSpan('send', TRACEPARENT, { kind: 'producer', attributes: { 'tidings.n': 7, absent: undefined } });
	expect(outer.traceparent).toMatch(new RegExp(`^00-${TRACE}-${outer.spanId}-01$`));
	const inner = outer.child('call', options);
	inner.run(() => {
		log.info('inside');
		detached(() => log.info('shared'));
		expect(currentSpan()?.traceparent).toBe(inner.traceparent);
	});
	inner.link(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
	inner.fail('AUTH');
	inner.end();
	inner.run(() => log.info('late'));
	outer.end();
	await part.stop();
	expect(spans).toHaveLength(2);
	const [call, send] = spans;
	expect(send).toMatchObject({ name: 'send', kind: 4, traceId: TRACE, parentSpanId: PARENT, service: 'tidings-demo', status: 0 });
	expect(send?.attributes).toEqual({ 'tidings.n': 7 });
	expect(call).toMatchObject({ name: 'call', kind: 3, traceId: TRACE, parentSpanId: outer.spanId, status: 2 });
	expect(call).toMatchObject({
		attributes: { 'error.type': 'AUTH' },
		links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }],
	});
	const ids = (text: string) => lines.find((line) => line['msg'] === text);
	expect(ids('inside')).toMatchObject({ traceId: TRACE, spanId: inner.spanId });
	expect(ids('shared')).not.toHaveProperty('traceId');
	expect(ids('late')).not.toHaveProperty('traceId');
});

test('a malformed traceparent begins a trace, and an unsampled one is followed without being recorded', async () => {
	const { env, spans } = await collector();
	const { part } = await start({ ...env, OTEL_SERVICE_NAME: 'ours' });
	startSpan('begun', 'nonsense', options).end();
	const quiet = startSpan('quiet', `00-${TRACE}-${PARENT}-00`, options);
	expect(quiet.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
	quiet.end();
	await part.stop();
	expect(spans).toEqual([expect.objectContaining({ name: 'begun', parentSpanId: '', service: 'ours' })]);
});

test('a collector that is away holds up nothing and is told of once', async () => {
	const { part, lines } = await start({
		OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
		OTEL_EXPORTER_OTLP_TIMEOUT: '200',
		OTEL_BSP_SCHEDULE_DELAY: '10',
		OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
	});
	const complaints = () => lines.filter((line) => line['level'] === 'warn' && 'leftOut' in line);
	for (let n = 0; n < 100; n++) startSpan(`step ${n}`, TRACEPARENT, options).end();
	await eventually(() => complaints().length === 1);
	for (let n = 0; n < 100; n++) startSpan(`step ${n}`, TRACEPARENT, options).end();
	await part.stop();
	expect(complaints()).toHaveLength(1);
	expect(complaints()[0]?.['reason']).toContain('ECONNREFUSED');
});

test('a collector that never answers does not keep the stop waiting for it', async () => {
	const hung = await collector();
	hung.hang();
	const { part, lines } = await start({ ...hung.env, OTEL_EXPORTER_OTLP_TIMEOUT: '500' }, 1);
	startSpan('step', TRACEPARENT, options).end();
	await part.stop();
	expect(lines.at(-1)).toMatchObject({ level: 'warn', msg: 'the last spans were not sent' });
	await eventually(() => hung.unanswered() === 1);
});

test('a variable given as a file reaches the SDK, and a file that is not there is named', async () => {
	await expect(start({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_HEADERS_FILE: '/nowhere' })).rejects.toThrow(
		'OTEL_EXPORTER_OTLP_HEADERS_FILE cannot be read',
	);
});
