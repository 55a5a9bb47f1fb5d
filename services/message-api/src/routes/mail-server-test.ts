import { createHash } from 'node:crypto';
import { tryGate } from '@tidings/db';
import { LIMITS } from '@tidings/model';
import { callerOf, type Operation, operation, refusalOfTenant } from '@tidings/runtime';
import { Type } from 'typebox';
import { beginChecks, refuseFaulty } from '../checks/faults.js';
import { readMailbox } from '../mail/read-mailbox.js';
import { findServer } from '../servers/find-server.js';
import { testServer } from '../servers/test-server.js';
import { wakeOpened } from '../servers/wake-opened.js';
import { answerOf, readIdempotencyKey, storedOr } from '../submission.js';
import { type ServersContext, shared, tierOf } from './mail-server-shape.js';

const Body = Type.Object(
	{
		to: Type.Optional(
			Type.String({
				minLength: 1,
				maxLength: LIMITS.address,
				format: 'idn-email',
				description: "Where the mail goes. Default: the server's own From.",
			}),
		),
	},
	{ additionalProperties: false },
);

/** The body of a request that has none. */
const NO_BODY = createHash('sha256').digest();

/** `POST /v1/mail-servers/{id}:test`. */
export function testOperation({ db, acceptor, metrics }: ServersContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/mail-servers/{id}:test',
		operationId: 'testMailServer',
		summary: 'Send a test mail through a mail server',
		description:
			'The mail goes through the mesh as any other, with one attempt, also when the server is not active. `GET /v1/messages/{id}` tells how it ended: SENT, or DEAD_LETTER or FAILED with the words of the server, such as those about a wrong password. Where a failure has shut the gate of the server, it is opened half: one mail goes first, this one or an older one that waits. What is paused stays so, and the test waits, too.',
		body: Body,
		bodyOptional: true,
		collectsFaults: true,
		submits: true,
		answers: { 202: Type.Ref('AcceptedMail') },
		headers: { Location: 'The message: `/v1/messages/{id}`.' },
		example: { to: 'ann@example.com' },
		answerExamples: {
			202: { id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11', status: 'PENDING', createdAt: '2026-11-30T09:00:00.000Z' },
		},
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const { raw, faults } = beginChecks(request);
			const to = typeof raw['to'] === 'string' ? readMailbox(raw['to'], '/to', faults) : null;
			const server = await findServer(db, caller, request.params.id);
			refuseFaulty(faults);
			if (request.headers['idempotency-key'] !== undefined) request.bodySha256 ??= NO_BODY;
			const idempotency = readIdempotencyKey(request, caller.tenant.id, `POST /v1/mail-servers/${server.id}:test`);
			const test = { caller, trace: request.trace, server, tier: tierOf(server, caller), to: to?.address ?? null, idempotency };
			const refusal = refusalOfTenant(caller.tenant);
			const { accepted, replayed } = answerOf(
				refusal === null ? await testServer(acceptor, test) : await storedOr(refusal, db.pool, idempotency),
			);
			if (replayed) {
				metrics.idempotentReplaysTotal.inc();
				reply.header('idempotent-replayed', 'true');
			}
			const [id = ''] = accepted.ids;
			request.span?.set({ 'tidings.record.id': id });
			// Whoever tests wants to know how it is now.
			if (!replayed && (await tryGate(db.pool, server))) await wakeOpened(db, server.id);
			reply.code(202).header('location', `/v1/messages/${id}`);
			return { id, status: 'PENDING', createdAt: accepted.createdAt };
		},
	});
}
