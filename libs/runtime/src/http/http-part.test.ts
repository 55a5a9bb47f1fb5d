import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { expect, test } from '@jest/globals';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { Type } from 'typebox';
import { eventually } from '../../../../test/harness/eventually.js';
import { type HttpPart, httpPart } from './http-part.js';
import { operation } from './operation.js';
import { createHttpServer } from './server.js';

/** A server with one operation that answers when it is let go. */
async function start(): Promise<{ part: HttpPart; held: (() => void)[] }> {
	const held: (() => void)[] = [];
	const app = await createHttpServer({
		log: createLogger({ service: 'demo', level: 'silent' }),
		metrics: createMetrics({ service: 'demo', version: '1', processMetrics: false }),
		info: { title: 'Demo', version: '1', description: '', tags: [] },
		schemas: [],
		isAway: () => false,
		credentials: { findCredential: async () => null, findTenant: async () => null, parseKey: () => null, matchesSecret: () => false },
		operations: [
			operation({
				method: 'GET',
				path: '/slow',
				operationId: 'slow',
				tag: '',
				summary: '',
				access: 'public',
				answers: { 200: Type.Object({ ok: Type.Boolean() }) },
				example: {},
				handle: () => new Promise((resolve) => held.push(() => resolve({ ok: true }))),
			}),
		],
	});
	const part = httpPart(app, { port: 0, host: '127.0.0.1' });
	await part.start();
	return { part, held };
}

test('a stop answers what came in, closes its connection and takes no other', async () => {
	const { part, held } = await start();
	const agent = new Agent({ keepAlive: true });
	const asked = request(`${part.address()}/slow`, { agent }).end();
	const answered = once(asked, 'response');
	await eventually(() => held.length === 1, { what: 'the request to be in hand' });
	const idle = once(request(`${part.address()}/nothing`, { agent: new Agent({ keepAlive: true }) }).end(), 'response');
	(await idle)[0].resume();
	const address = part.address();
	const stopped = part.stop();
	await eventually(
		() =>
			fetch(address).then(
				() => false,
				(error) => error.cause?.code === 'ECONNREFUSED',
			),
		{ what: 'the port to be closed' },
	);
	held[0]?.();
	const [response] = await answered;
	expect([response.statusCode, response.headers.connection]).toEqual([200, 'close']);
	response.resume();
	await stopped;
	agent.destroy();
});
