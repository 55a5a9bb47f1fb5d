import type { Db } from '@tidings/db';
import { callerOf, etagOf, faultsGiven, type Operation, type OperationRequest, operation, refuseStale } from '@tidings/runtime';
import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { rawOf } from '../checks/faults.js';
import { changeServer } from '../servers/change-server.js';
import { createServer, type ServerContext, type StoredServer } from '../servers/create-server.js';
import { deleteServer } from '../servers/delete-server.js';
import { findServer, ownerOf } from '../servers/find-server.js';
import { GateSchema, ServerStateSchema } from '../servers/gate-shape.js';
import { NewServerSchema, ServerChangeSchema, ServerSchema, type ShownServer } from '../servers/server-schema.js';
import { gateOperations } from './mail-server-gate.js';
import { CHANGE_EXAMPLE, LOCATION, NEW_EXAMPLE, type ServersContext, SHOWN_EXAMPLE, shared, showServers } from './mail-server-shape.js';
import { testOperation } from './mail-server-test.js';
import { PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

/** Schemas that these operations refer to. */
export const SERVER_SCHEMAS = [NewServerSchema, ServerChangeSchema, ServerSchema, GateSchema, ServerStateSchema];

const ETAG = 'Which version it is, whatever its gate does; `If-Match` names it when you change or delete the mail server.';

/** `/v1/mail-servers`: `POST`, list, `GET` one, `PATCH`, `DELETE`, `:test`, `state`, `:pause`, `:resume`. */
export function mailServerOperations(context: ServersContext): Operation[] {
	return [
		createOperation(context),
		listOperation(context.db),
		oneOperation(context.db),
		changeOperation(context),
		deleteOperation(context),
		testOperation(context),
		...gateOperations(context),
	];
}

function createOperation(context: ServersContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/mail-servers',
		operationId: 'createMailServer',
		summary: 'Add a mail server',
		description: 'A tenant has 200 at most, those that are not active included.',
		body: Type.Ref('NewMailServer'),
		collectsFaults: true,
		answers: { 201: Type.Ref('MailServer') },
		errors: ['name-taken', 'state-conflict'],
		headers: { Location: LOCATION, ETag: ETAG },
		example: NEW_EXAMPLE,
		answerExamples: { 201: SHOWN_EXAMPLE },
		handle: async (request, reply) => {
			const faults = faultsGiven(request);
			const tenantId = await ownerOf(context.db, callerOf(request), rawOf(request.body)?.['scope'], '/scope');
			const server = await createServer(actIn(context, request), tenantId, request.body as Static<typeof NewServerSchema>, faults);
			context.servers.forget();
			reply.code(201).header('location', `/v1/mail-servers/${server.id}`);
			return await shown(context.db, server, { request, reply });
		},
	});
}

function listOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/mail-servers',
		operationId: 'listMailServers',
		summary: 'List mail servers, newest first',
		query: Type.Object(
			{
				...PAGE_QUERY,
				active: Type.Optional(Type.Enum(['true', 'false', 'all'], { description: 'Default `true`.' })),
				scope: Type.Optional(
					Type.Enum(['TENANT', 'PLATFORM'], {
						description:
							"`PLATFORM`: the platform's own; needs the capability `platform`. Default `TENANT`: those of the tenant that the request is about.",
					}),
				),
			},
			{ additionalProperties: false },
		),
		answers: { 200: pageSchema(Type.Ref('MailServer')) },
		example: { data: [SHOWN_EXAMPLE], nextCursor: null },
		handle: async (request) => {
			const { limit, before } = readPage(request.query);
			const { active = 'true', scope } = request.query;
			const caller = callerOf(request);
			const rows = await db.prisma.mailSendServerConfig.findMany({
				where: {
					tenantId: await ownerOf(db, caller, scope, null),
					...(active === 'all' ? {} : { active: active === 'true' }),
					...(before === undefined ? {} : { id: { lt: before } }),
				},
				orderBy: { id: 'desc' },
				take: limit + 1,
			});
			const page = pageOf(rows, limit);
			return { data: await showServers(db, page.rows, caller), nextCursor: page.nextCursor };
		},
	});
}

function oneOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/mail-servers/{id}',
		operationId: 'getMailServer',
		summary: 'A mail server',
		answers: { 200: Type.Ref('MailServer') },
		headers: { ETag: ETAG },
		example: SHOWN_EXAMPLE,
		handle: async (request, reply) => await shown(db, await findServer(db, callerOf(request), request.params.id), { request, reply }),
	});
}

function changeOperation(context: ServersContext): Operation {
	return operation({
		...shared,
		method: 'PATCH',
		path: '/v1/mail-servers/{id}',
		operationId: 'changeMailServer',
		summary: 'Change a mail server',
		description:
			'A JSON Merge Patch (RFC 7396), sent as `application/json`: what is absent stays, `from` and `dkim` are merged field by field. The result is checked as a whole. It holds from now on, also for mails that wait; where the server was shut off for its errors, it is tried again at once.',
		guarded: true,
		body: Type.Ref('MailServerChange'),
		collectsFaults: true,
		answers: { 200: Type.Ref('MailServer') },
		errors: ['name-taken'],
		headers: { ETag: ETAG },
		example: CHANGE_EXAMPLE,
		answerExamples: { 200: SHOWN_EXAMPLE },
		handle: async (request, reply) => {
			const faults = faultsGiven(request);
			const act = actIn(context, request);
			const change = request.body as Static<typeof ServerChangeSchema>;
			const server = await againstCurrent(context.db, request, (stored) => changeServer(act, stored, change, faults));
			context.servers.forget();
			return await shown(context.db, server, { request, reply });
		},
	});
}

function deleteOperation(context: ServersContext): Operation {
	return operation({
		...shared,
		method: 'DELETE',
		path: '/v1/mail-servers/{id}',
		operationId: 'deleteMailServer',
		summary: 'Delete a mail server',
		description:
			'Refused while messages that go through it are PENDING, RETRY, SENDING or HELD: then make it inactive, and delete it when they are done. Its name is free again. Messages that went through it stay.',
		guarded: true,
		answers: { 204: null },
		errors: ['state-conflict'],
		example: null,
		handle: async (request, reply) => {
			const act = actIn(context, request);
			await againstCurrent(context.db, request, async (stored) => ((await deleteServer(context.db, act, stored)) ? stored : null));
			context.servers.forget();
			return reply.code(204).send();
		},
	});
}

/** Runs a guarded act on the mail server that a request names, as it stands. When it was changed meanwhile the act begins anew: then an `If-Match` that names a version is stale. */
async function againstCurrent<T>(db: Db, request: OperationRequest, act: (stored: StoredServer) => Promise<T | null>): Promise<T> {
	for (;;) {
		const stored = await findServer(db, callerOf(request), request.params.id);
		refuseStale(request, stored.version);
		const done = await act(stored);
		if (done !== null) return done;
	}
}

function actIn({ db, keyring, allowPrivateHosts }: ServersContext, request: OperationRequest): ServerContext {
	return { db, keyring, allowPrivateHosts, actor: callerOf(request).actor, traceId: request.trace.traceId };
}

type Exchange = { readonly request: OperationRequest; readonly reply: FastifyReply };

async function shown(db: Db, server: StoredServer, { request, reply }: Exchange): Promise<ShownServer | undefined> {
	reply.header('etag', etagOf(server.version));
	const [one] = await showServers(db, [server], callerOf(request));
	return one;
}
