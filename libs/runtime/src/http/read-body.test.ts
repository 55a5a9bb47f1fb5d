import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { Type } from 'typebox';
import { eventually } from '../../../../test/harness/eventually.js';
import { httpPart } from './http-part.js';
import { operation } from './operation.js';
import { createHttpServer } from './server.js';

const app = await createHttpServer({
	log: createLogger({ service: 'demo', level: 'silent' }),
	metrics: createMetrics({ service: 'demo', version: '1', processMetrics: false }),
	info: { title: 'Demo', version: '1', description: 'A demo.', tags: [] },
	schemas: [],
	bodyLimit: 2_000_000,
	bodiesLimit: 3_000_000,
	isAway: () => false,
	credentials: {
		findCredential: async () => null,
		findTenant: async () => ({ id: newId(), kind: 'TENANT', status: 'ACTIVE', settings: {} }),
		parseKey: () => null,
		matchesSecret: () => false,
	},
	operations: [
		operation({
			method: 'POST',
			path: '/',
			operationId: 'take',
			tag: 'Things',
			summary: 'Takes anything',
			access: 'public',
			body: Type.Object({}),
			answers: { 200: Type.Object({ ok: Type.Boolean() }) },
			example: {},
			handle: () => ({ ok: true }),
		}),
	],
});
const part = httpPart(app, { port: 0, host: '127.0.0.1' });
await part.start();
/** The server's ends of all connections, in order. */
const arrived: Socket[] = [];
app.server.on('connection', (socket: Socket) => arrived.push(socket));
afterAll(async () => {
	for (const socket of arrived) socket.destroy();
	await part.stop();
});

test('bodies that would not fit in together are told to come again; a small one and a lone one always pass', async () => {
	const post = async (bytes: number): Promise<Response> =>
		await fetch(`${part.address()}/`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ a: 'x'.repeat(bytes) }),
		});
	const slow = [1, 2].map(() => {
		const socket = connect(Number(new URL(part.address()).port), '127.0.0.1');
		socket.write(
			`POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1900000\r\n\r\n"${'x'.repeat(1_400_000)}`,
		);
		return socket;
	});
	// Not before: whichever body goes beyond the limit is the one that is dropped.
	await eventually(() => arrived.length === 2 && arrived.every((socket) => socket.bytesRead > 1_400_000), {
		what: 'both slow bodies to have come',
	});
	const refused = await post(1_000_000);
	expect(refused.status).toBe(503);
	expect(refused.headers.get('retry-after')).toBe('1');
	expect(await refused.json()).toMatchObject({ code: 'overloaded' });
	expect((await post(1_000)).status).toBe(200);
	for (const socket of slow) socket.destroy();
	await eventually(async () => (await post(1_900_000)).status === 200, { what: 'the slow bodies to be let go' });
	for (let n = 0; n < 5; n += 1) expect((await post(1_900_000)).status).toBe(200);
});

test('a body that comes in chunks is bounded too', async () => {
	const chunks = async function* (n: number): AsyncGenerator<Uint8Array> {
		yield Buffer.from('{"a":"');
		for (let i = 0; i < n; i += 1) yield Buffer.alloc(100_000, 'x');
		yield Buffer.from('"}');
	};
	const post = async (n: number): Promise<number> =>
		(
			await app.inject({
				method: 'POST',
				url: '/',
				headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
				payload: Readable.from(chunks(n)),
			})
		).statusCode;
	expect(await post(3)).toBe(200);
	expect(await post(21)).toBe(413);
});
