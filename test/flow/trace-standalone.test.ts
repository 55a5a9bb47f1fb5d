import { expect, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { startCollector } from '../harness/otlp-collector.js';
import { call, makeDataDir, startedStandalone } from '../harness/standalone.js';

const TRACE = 'd4'.repeat(16);
// OTLP's numbers of the kinds of spans.
const [SERVER, CLIENT, PRODUCER, CONSUMER] = [2, 3, 4, 5];

test('standalone is one service in the same trace', async () => {
	const dir = makeDataDir();
	const own = await startCollector();
	const running = await startedStandalone(dir.path, { env: { ...own.env } });
	let code: number | null = null;
	try {
		const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
		await call(running.facts, 'POST', '/v1/mails', { to: ['ann@example.com'], subject: 'Hello', text: 'Hello' }, { traceparent });
		await eventually(() => own.spans.some((span) => span.name.startsWith('process')));
	} finally {
		code = await running.stop();
		await own.close();
		dir.drop();
	}
	expect(code).toBe(0);
	const spans = own.spans.filter((span) => span.traceId === TRACE);
	expect(new Set(spans.map((span) => span.service))).toEqual(new Set(['tidings-standalone']));
	expect(spans.map((span) => span.kind).sort()).toEqual([SERVER, CLIENT, CLIENT, PRODUCER, CONSUMER]);
	expect(spans.find((span) => span.kind === CONSUMER)?.attributes['messaging.system.name']).toBe('embedded');
}, 90_000);
