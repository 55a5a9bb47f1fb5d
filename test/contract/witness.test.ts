import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createNamespace, type TestNamespace } from '../harness/namespace.js';
import { openDriver } from './driver.js';
import { freshPlace, hold, inTime, using } from './fault-kit.js';
import { findServiceUrl, findWitness, type WitnessMessage, witnessReads, witnessWrites } from './witness.js';

const python = findWitness();
if (python === null) console.log('not run: pulsar-client for Python is not installed; .ci/run installs it');

const MESSAGES: readonly WitnessMessage[] = [
	{ payload: Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)), properties: {} },
	{
		payload: Buffer.from('{"name":"Zoë 王小明 👩‍💻"}'),
		properties: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
	},
	{ payload: Buffer.from('second'), properties: { 'ключ "x"': '你好 🙂 ß\n{}', empty: '', ' spaces ': ' kept ' } },
	{ payload: Buffer.alloc(300_000, 'tidings'), properties: { size: 'larger than one frame' } },
];

let place: TestNamespace;

beforeAll(async () => {
	if (python !== null) place = await createNamespace();
}, 180_000);

afterAll(async () => await place?.drop());

const sorted = (messages: readonly WitnessMessage[]): WitnessMessage[] => [...messages].sort((a, b) => a.payload.compare(b.payload));

/** A test of the WebSocket driver and the witness on a fresh topic. */
function witnessTest(name: string, act: (bench: Awaited<ReturnType<typeof makeBench>> & { python: string }) => Promise<void>): void {
	const run = python === null ? test.skip : test;
	run(
		name,
		async () => {
			const bench = await makeBench();
			await using(bench.broker, () => act({ ...bench, python: python ?? '' }));
		},
		180_000,
	);
}

async function makeBench() {
	const at = { webUrl: place.adminUrl, wsUrl: place.wsUrl, serviceUrl: '' };
	const broker = await openDriver('websocket', at, { namespace: place.namespace });
	const target = freshPlace();
	await broker.ensureTopics([target]);
	const topic = `persistent://${place.namespace}/${target.topic}`;
	return { broker, target, topic, serviceUrl: await findServiceUrl(place.adminUrl, topic) };
}

witnessTest('the official Python client reads what the WebSocket driver wrote', async ({ python, broker, target, topic, serviceUrl }) => {
	const results = await broker.publish(MESSAGES.map((message) => ({ topic: target.topic, ...message })));
	expect(results.map(({ kind }) => kind)).toEqual(MESSAGES.map(() => 'confirmed'));
	const read = await witnessReads(python, { serviceUrl, topic, subscription: target.subscription, count: MESSAGES.length });
	expect(sorted(read)).toEqual(sorted(MESSAGES));
	await inTime('its acks', async () => (await broker.backlog(target.topic, target.subscription)) === 0);
});

witnessTest('the WebSocket driver reads what the official Python client wrote', async ({ python, broker, target, topic, serviceUrl }) => {
	await witnessWrites(python, { serviceUrl, topic, messages: MESSAGES });
	const held = await hold(broker, target, 10);
	await inTime('every message', () => held.length === MESSAGES.length);
	const read = held.map(({ payload, properties }) => ({ payload: Buffer.from(payload), properties: { ...properties } }));
	expect(sorted(read)).toEqual(sorted(MESSAGES));
});
