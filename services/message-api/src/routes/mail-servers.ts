import type { Keyring } from '@tidings/crypto';
import type { Db } from '@tidings/db';
import { Problem } from '@tidings/model';
import { callerOf, faultsGiven, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { createServer, type StoredServer } from '../servers/create-server.js';
import type { KnownServers } from '../servers/known-servers.js';
import { NewServerSchema, ServerSchema } from '../servers/server-schema.js';
import { PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

/** Schemas that these operations refer to. */
export const SERVER_SCHEMAS = [NewServerSchema, ServerSchema];

const EXAMPLE = {
	name: 'main',
	host: 'smtp.example.com',
	port: 587,
	security: 'starttls',
	username: 'shop',
	password: '…',
	from: { address: 'shop@example.com', name: 'Shop' },
	allowedFrom: ['*@example.com'],
	default: true,
};
const SHOWN = {
	id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	name: 'main',
	host: 'smtp.example.com',
	port: 587,
	security: 'starttls',
	username: 'shop',
	hasPassword: true,
	from: { address: 'shop@example.com', name: 'Shop' },
	allowedFrom: ['*@example.com'],
	default: true,
	ratePerMinute: null,
	dailyLimit: null,
	ambiguous: 'resend',
	dkim: { domain: 'example.com', selector: 's1' },
	active: true,
	createdAt: '2026-11-30T09:00:00.000Z',
	updatedAt: '2026-11-30T09:00:00.000Z',
};
const shared = { tag: 'Mail servers', access: 'providers:write' } as const;

/** What these operations need. */
type ServersContext = { readonly db: Db; readonly keyring: Keyring; readonly allowPrivateHosts: boolean; readonly servers: KnownServers };

/** `POST` and `GET /v1/mail-servers`, `GET /v1/mail-servers/{id}`. */
export function mailServerOperations(context: ServersContext): Operation[] {
	return [createOperation(context), listOperation(context.db), oneOperation(context.db)];
}

function createOperation(context: ServersContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/mail-servers',
		operationId: 'createMailServer',
		summary: 'Add a mail server',
		body: Type.Ref('NewMailServer'),
		collectsFaults: true,
		answers: { 201: Type.Ref('MailServer') },
		errors: ['name-taken'],
		headers: { Location: 'The mail server: `/v1/mail-servers/{id}`.' },
		example: EXAMPLE,
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const who = {
				db: context.db,
				keyring: context.keyring,
				allowPrivateHosts: context.allowPrivateHosts,
				actor: caller.actor,
				traceId: request.trace.traceId,
			};
			const server = await createServer(who, caller.tenant.id, request.body as Static<typeof NewServerSchema>, faultsGiven(request));
			context.servers.forget();
			reply.code(201).header('location', `/v1/mail-servers/${server.id}`);
			return showServer(server);
		},
	});
}

function listOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/mail-servers',
		operationId: 'listMailServers',
		summary: 'List mail servers, newest first',
		query: Type.Object(
			{ ...PAGE_QUERY, active: Type.Optional(Type.Enum(['true', 'false', 'all'], { description: 'Default `true`.' })) },
			{ additionalProperties: false },
		),
		answers: { 200: pageSchema(Type.Ref('MailServer')) },
		example: { data: [SHOWN], nextCursor: null },
		handle: async (request) => {
			const { limit, before } = readPage(request.query);
			const { active = 'true' } = request.query;
			const rows = await prisma.mailSendServerConfig.findMany({
				where: {
					tenantId: callerOf(request).tenant.id,
					...(active === 'all' ? {} : { active: active === 'true' }),
					...(before === undefined ? {} : { id: { lt: before } }),
				},
				orderBy: { id: 'desc' },
				take: limit + 1,
			});
			const page = pageOf(rows, limit);
			return { data: page.rows.map(showServer), nextCursor: page.nextCursor };
		},
	});
}

function oneOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/mail-servers/{id}',
		operationId: 'getMailServer',
		summary: 'A mail server',
		answers: { 200: Type.Ref('MailServer') },
		example: SHOWN,
		handle: async (request) => {
			const server = await prisma.mailSendServerConfig.findFirst({
				where: { id: request.params.id, tenantId: callerOf(request).tenant.id },
			});
			if (server === null) throw new Problem('not-found', 'There is no such mail server.');
			return showServer(server);
		},
	});
}

function showServer(server: StoredServer): Static<typeof ServerSchema> {
	return {
		id: server.id,
		name: server.name,
		host: server.host,
		port: server.port,
		security: server.security,
		username: server.username,
		hasPassword: server.passwordSealed !== null,
		from: { address: server.fromAddress, name: server.fromName },
		allowedFrom: server.allowedFrom,
		default: server.isDefault,
		ratePerMinute: server.ratePerMinute,
		dailyLimit: server.dailyLimit,
		ambiguous: server.onAmbiguous,
		dkim: server.dkimDomain === null || server.dkimSelector === null ? null : { domain: server.dkimDomain, selector: server.dkimSelector },
		active: server.active,
		createdAt: server.createdAt.toISOString(),
		updatedAt: server.updatedAt.toISOString(),
	};
}
