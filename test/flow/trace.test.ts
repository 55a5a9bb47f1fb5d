import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Broker, type IncomingMessage, openBroker } from '@tidings/broker';
import { bootstrap } from '@tidings/message-api';
import { topicsOf } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import type { ServiceProcess } from '../harness/mesh-process.js';
import { type CollectedSpan, type OtlpCollector, startCollector } from '../harness/otlp-collector.js';
import { makeProcessMesh, type ProcessMesh } from '../harness/process-mesh.js';
import { hasPromtool, lintMetrics } from '../harness/promtool.js';
import { pulsarOfRun } from '../harness/run-pulsar.js';

// OTLP's numbers of the kinds of spans.
const [SERVER, CLIENT, PRODUCER, CONSUMER] = [2, 3, 4, 5];
const CALLER = '00f067aa0ba902b7';
const SERVICES = ['message-api', 'outbox-publisher', 'mail-sender', 'dead-letter'] as const;

let collector: OtlpCollector;
let mesh: ProcessMesh;
let witness: Broker;
let apiKey: string;
/** Every message of the delivering topics, as a second subscription sees them. */
const messages: IncomingMessage[] = [];

beforeAll(async () => {
	collector = await startCollector();
	mesh = await makeProcessMesh({ settings: { ...collector.env, LOG_LEVEL: 'trace', TIDINGS_RETRY_MAX_ATTEMPTS: '2' } });
	({ apiKey } = await bootstrap(mesh.db));
	await mesh.startReady(...SERVICES);
	await mesh.addServer();
	const pulsar = await pulsarOfRun();
	witness = await openBroker({ url: pulsar.replace(/^http/, 'ws'), adminUrl: pulsar, namespace: mesh.namespace });
	const places = topicsOf('mail-send').map(({ topic }) => ({ topic, subscription: 'witness' }));
	await witness.ensureTopics(places);
	for (const place of places)
		await witness.subscribe({
			...place,
			slots: 100,
			onMessage: (message) => {
				messages.push(message);
				message.ack();
			},
		});
}, 240_000);
afterAll(async () => {
	await witness?.close();
	await mesh?.close();
	await collector?.close();
}, 60_000);

const service = (name: (typeof SERVICES)[number]): ServiceProcess => {
	const found = mesh.services.find((one) => one.service === name);
	if (found === undefined) throw new Error(`${name} was not started`);
	return found;
};

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Record<string, string>> {
	const response = await fetch(`${service('message-api').api()}${path}`, {
		method: 'POST',
		headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
		body: JSON.stringify(body),
	});
	const answer = (await response.json()) as Record<string, string>;
	if (response.status >= 300) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
	return answer;
}

async function statusOf(id: string | undefined, wanted: string): Promise<void> {
	await eventually(
		async () => {
			const { rows } = await mesh.db.pool.query<{ status: string }>('select status from send_state where id = $1', [id]);
			return rows[0]?.status === wanted;
		},
		{ within: 30_000, what: `the record to be ${wanted}` },
	);
}

/** The spans of a trace, once `count` of them are there, in the order in which they began. */
async function traceOf(traceId: string, count: number): Promise<CollectedSpan[]> {
	const found = () => collector.spans.filter((span) => span.traceId === traceId);
	await eventually(() => found().length >= count, { within: 15_000, what: `${count} spans` });
	return [...found()].sort((a, b) => a.start - b.start);
}

const only = (spans: readonly CollectedSpan[], kind: number, name?: RegExp): CollectedSpan => {
	const [first, more] = spans.filter((span) => span.kind === kind && (name === undefined || name.test(span.name)));
	if (first === undefined || more !== undefined) throw new Error(`not one span of kind ${kind} like ${name}: ${JSON.stringify(spans)}`);
	return first;
};

test('one trace leads from the caller over the accept, the message and its processing to the mail server', async () => {
	const traceId = 'a1'.repeat(16);
	const { id = '' } = await post(
		'/v1/mails',
		{ to: ['ann@example.com'], subject: 'Hello', text: 'Hello' },
		{ traceparent: `00-${traceId}-${CALLER}-01` },
	);
	await statusOf(id, 'SENT');
	const spans = await traceOf(traceId, 5);
	expect(spans).toHaveLength(5);
	const ids = { 'tidings.record.id': id, 'tidings.tenant.id': mesh.tenantId };
	const server = only(spans, SERVER);
	expect(server).toMatchObject({
		name: 'POST /v1/mails',
		service: 'tidings-message-api',
		parentSpanId: CALLER,
		attributes: { ...ids, 'http.route': '/v1/mails', 'http.response.status_code': 202 },
	});
	const topic = { 'messaging.system.name': 'pulsar', 'messaging.destination.name': 'mail-send-normal' };
	const producer = only(spans, PRODUCER);
	expect(producer).toMatchObject({
		name: 'send mail-send-normal',
		service: 'tidings-outbox-publisher',
		parentSpanId: server.spanId,
		attributes: { ...ids, ...topic, 'messaging.operation.type': 'send' },
	});
	const consumer = only(spans, CONSUMER);
	expect(consumer).toMatchObject({
		name: 'process mail-send-normal',
		service: 'tidings-mail-sender',
		parentSpanId: producer.spanId,
		status: 0,
		links: [],
		attributes: {
			...ids,
			...topic,
			'messaging.operation.type': 'process',
			'messaging.message.id': expect.any(String),
			'tidings.attempt.no': 1,
		},
	});
	const smtp = only(spans, CLIENT, /^smtp send$/);
	expect(smtp).toMatchObject({
		service: 'tidings-mail-sender',
		parentSpanId: consumer.spanId,
		status: 0,
		attributes: { 'server.address': mesh.sink.host, 'server.port': mesh.sink.port },
	});
	const settle = only(spans, CLIENT, /^settle/);
	expect(settle).toMatchObject({ parentSpanId: consumer.spanId, status: 0, attributes: { ...ids, 'messaging.operation.type': 'settle' } });
	// One after the other, within the processing. Lengths are compared, not moments: each span anchors its own start on a wall clock of whole milliseconds, which may step.
	expect(smtp.end - smtp.start + settle.end - settle.start).toBeLessThanOrEqual(consumer.end - consumer.start + 0.01);
	// The same ids stand in the record, in the message and in the lines.
	const { rows } = await mesh.db.pool.query('select trace_id, traceparent from send_record where id = $1', [id]);
	expect(rows).toEqual([{ trace_id: traceId, traceparent: `00-${traceId}-${server.spanId}-01` }]);
	const message = await eventually(() => messages.find((one) => Buffer.from(one.payload).toString().includes(id)));
	expect(JSON.parse(Buffer.from(message.payload).toString())).toEqual({ v: 1, recordId: id, tenantId: mesh.tenantId, traceId });
	expect(message.properties['traceparent']).toBe(`00-${traceId}-${producer.spanId}-01`);
	expect(service('message-api').lines.find((line) => line.msg === 'request' && line['traceId'] === traceId)).toMatchObject({
		spanId: server.spanId,
	});
	expect(service('mail-sender').lines.find((line) => line['recordId'] === id && line.msg === 'attempt settled')).toMatchObject({
		traceId,
		spanId: consumer.spanId,
	});
});

test('a retry goes on in the same trace, and links to the step that accepted the mail', async () => {
	const traceId = 'b2'.repeat(16);
	mesh.sink.script({
		stage: 'RCPT',
		to: 'later@example.com',
		times: 1,
		answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0', text: 'later' },
	});
	const { id = '' } = await post(
		'/v1/mails',
		{ to: ['later@example.com'], subject: 'Hello', text: 'Hello', priority: 'urgent' },
		{ traceparent: `00-${traceId}-${CALLER}-01` },
	);
	await statusOf(id, 'SENT');
	const spans = await traceOf(traceId, 9);
	const server = only(spans, SERVER);
	const of = (kind: number, name: RegExp) => spans.filter((span) => span.kind === kind && name.test(span.name));
	const producers = of(PRODUCER, /^send mail-send-urgent$/);
	const consumers = of(CONSUMER, /^process mail-send-urgent$/);
	const smtp = of(CLIENT, /^smtp send$/);
	expect(producers.map((span) => span.parentSpanId)).toEqual([server.spanId, server.spanId]);
	expect(consumers.map((span) => span.parentSpanId)).toEqual(producers.map((span) => span.spanId));
	expect(smtp.map((span) => span.parentSpanId)).toEqual(consumers.map((span) => span.spanId));
	expect(consumers.map((span) => span.attributes['tidings.attempt.no'])).toEqual([1, 2]);
	expect(consumers.map((span) => span.links)).toEqual([[], [{ traceId, spanId: server.spanId }]]);
	expect(smtp.map((span) => [span.status, span.attributes['error.type']])).toEqual([
		[2, 'TRANSIENT'],
		[0, undefined],
	]);
});

test('a trace that its caller does not record is carried on, and not recorded here either', async () => {
	const traceId = 'c3'.repeat(16);
	const { id = '' } = await post(
		'/v1/mails',
		{ to: ['ann@example.com'], subject: 'Hello', text: 'Hello' },
		{ traceparent: `00-${traceId}-${CALLER}-00` },
	);
	await statusOf(id, 'SENT');
	const message = await eventually(() => messages.find((one) => Buffer.from(one.payload).toString().includes(id)));
	expect(message.properties['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
	expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
});

test('I13 what a mail holds, and a password, get into no line, metric, span or message, on the way to a dead letter and to a poisoned topic', async () => {
	const marks = ['zoemark', 'Subjectmark', 'Bodymark', 'Htmlmark', 'Namemark', 'passwordmark', 'filemark', 'metamark'];
	const host = { host: mesh.sink.host, port: mesh.sink.port, security: 'none', default: false, active: true };
	const locked = await post('/v1/mail-servers', {
		...host,
		name: 'locked',
		username: 'zoemark@example.com',
		password: 'passwordmark',
		from: { address: 'zoemark-from@example.com', name: 'Namemark' },
		ambiguous: 'hold',
	});
	const mail = (to: string) => ({
		to: [{ address: to, name: 'Namemark' }],
		replyTo: 'zoemark-reply@example.com',
		subject: 'Subjectmark',
		text: 'Bodymark',
		html: '<p>Htmlmark</p>',
		attachments: [{ filename: 'filemark.txt', contentType: 'text/plain', content: Buffer.from('Bodymark').toString('base64') }],
		metadata: { note: 'metamark' },
	});
	mesh.sink.script({
		stage: 'RCPT',
		to: 'zoemark-no@example.com',
		answer: { kind: 'refuse', code: 550, enhancedCode: '5.1.1', text: '<zoemark-no@example.com> Subjectmark' },
	});
	mesh.sink.script({
		stage: 'DOT',
		to: 'zoemark-late@example.com',
		answer: { kind: 'refuse', code: 451, text: 'zoemark-late@example.com Bodymark' },
	});
	const [failed, exhausted, unauthorised] = await Promise.all([
		post('/v1/mails', mail('zoemark-no@example.com')),
		post('/v1/mails', mail('zoemark-late@example.com')),
		post('/v1/mails', { ...mail('zoemark-yes@example.com'), serverId: locked['id'] }),
	]);
	await statusOf(failed['id'], 'FAILED');
	await statusOf(exhausted['id'], 'DEAD_LETTER');
	await statusOf(unauthorised['id'], 'DEAD_LETTER');
	// Neither does what somebody else puts into the topic.
	await witness.publish([
		{ topic: 'mail-send-bulk', payload: Buffer.from('{"zoemark@example.com": "Bodymark"'), properties: { foreign: 'yes' } },
	]);
	await eventually(async () => {
		const { rows } = await mesh.db.pool.query<{ n: number }>(
			`select count(*)::int as n from dead_letter_message where source = 'BROKER_POISON'`,
		);
		return rows[0]?.n === 1;
	});
	// What the API refuses, and is asked for, says nothing either.
	await expect(post('/v1/mails', { ...mail('zoemark@@example'), zoemark: 'Bodymark' })).rejects.toThrow('422');
	await fetch(`${service('message-api').api()}/v1/messages?recipient=zoemark-no%40example.com`, {
		headers: { authorization: `Bearer ${apiKey}` },
	});
	await fetch(`${service('message-api').api()}/v1/zoemark@example.com`);
	await eventually(() =>
		collector.spans.some((span) => span.attributes['tidings.record.id'] === unauthorised['id'] && span.kind === CONSUMER),
	);
	const own = messages.filter(({ properties }) => properties['foreign'] === undefined);
	const outputs: Record<string, string> = {
		spans: collector.raw(),
		messages: own.map(({ payload, properties }) => `${Buffer.from(payload).toString()} ${JSON.stringify(properties)}`).join('\n'),
	};
	for (const one of mesh.services) {
		outputs[`lines of ${one.service}`] = one.lines.map((line) => JSON.stringify(line)).join('\n');
		outputs[`metrics of ${one.service}`] = (await one.admin('/metrics')).text;
	}
	for (const [where, text] of Object.entries(outputs)) {
		expect(`${where}: ${text === '' ? 'nothing' : 'something'}`).toBe(`${where}: something`);
		expect(`${where}: ${marks.filter((mark) => text.toLowerCase().includes(mark.toLowerCase())).join()}`).toBe(`${where}: `);
	}
});

const testWithPromtool = hasPromtool ? test : test.skip;
testWithPromtool('promtool has nothing against the metrics of any service that has worked', async () => {
	for (const one of mesh.services) {
		const { text } = await one.admin('/metrics');
		expect(`${one.service} ${lintMetrics(text).join('; ')}`).toBe(`${one.service} `);
		expect(text).toContain(`tidings_build_info{service="${one.service}"`);
	}
});

test('a collector that is gone holds up neither mails nor a stop, and does not flood the log', async () => {
	const sender = service('mail-sender');
	const publisher = service('outbox-publisher');
	expect(await publisher.term()).toEqual({ code: 0, signal: null });
	await collector.close();
	for (let n = 0; n < 20; n++) await post('/v1/mails', { to: ['ann@example.com'], subject: 'Hello', text: 'Hello' });
	publisher.restart();
	await mesh.drained();
	expect(await sender.term()).toEqual({ code: 0, signal: null });
	const complaints = sender.lines.filter((line) => line.msg.startsWith('traces are not exported'));
	expect(complaints.length).toBeLessThanOrEqual(1);
}, 90_000);
