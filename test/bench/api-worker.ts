import { parseKeys } from '@tidings/crypto';
import { openDb } from '@tidings/db';
import { bootstrap, createServer, credentialsIn, MAIL_SCHEMAS, messageApiParts } from '@tidings/message-api';
import { DEFAULT_RETRY } from '@tidings/model';
import { createHttpServer, httpPart, operation, startParts } from '@tidings/runtime';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { Type } from 'typebox';
import { setLimits } from './limits.js';

// message-api in a process of its own, and beside it a server that is the same but for one thing: its route does nothing. With `limited` its tenant and its mail server have limits.
const [url = '', limited = ''] = process.argv.slice(2);
const log = createLogger({ service: 'bench', level: 'warn' });
const metrics = createMetrics({ service: 'bench', version: '0', processMetrics: false });
const db = openDb({ url, name: 'bench' });
const { tenantId, apiKey } = await bootstrap(db);
const keyring = parseKeys(`bench:${Buffer.alloc(32, 7).toString('base64')}`);
await createServer({ db, keyring, allowPrivateHosts: true, actor: 'bench', traceId: '0'.repeat(32) }, tenantId, {
	name: 'server',
	host: '127.0.0.1',
	port: 25,
	security: 'none',
	from: { address: 'shop@example.com' },
});
if (limited !== '') await setLimits(db.pool, true);
const api = messageApiParts({
	db,
	log,
	metrics,
	keyring,
	httpPort: 0,
	host: '127.0.0.1',
	allowPrivateHosts: true,
	policyOf: () => DEFAULT_RETRY,
	version: '0',
});
const answer = { id: '019a0000-0000-7000-8000-000000000000', status: 'PENDING', createdAt: '2026-01-01T00:00:00.000Z' };
const idle = httpPart(
	await createHttpServer({
		log,
		metrics,
		credentials: credentialsIn(db),
		isAway: () => false,
		info: { title: 'Bench', version: '0', description: 'A route that does nothing.', tags: [] },
		schemas: MAIL_SCHEMAS,
		operations: [
			operation({
				method: 'POST',
				path: '/v1/mails',
				operationId: 'doNothing',
				tag: 'Bench',
				summary: 'Checks the credential and the shape, and does nothing.',
				access: 'messages:send',
				body: Type.Ref('Mail'),
				answers: { 202: Type.Object({ id: Type.String(), status: Type.String(), createdAt: Type.String() }) },
				example: {},
				handle: (_request, reply) => {
					reply.code(202);
					return answer;
				},
			}),
		],
	}),
	{ port: 0, host: '127.0.0.1' },
);
await startParts([...api.parts, idle], { log });
process.stdout.write(`${JSON.stringify({ api: api.address(), idle: idle.address(), apiKey, tenantId })}\n`);
process.stdin.resume().once('end', () => process.exit(0));
