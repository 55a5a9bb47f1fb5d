import type { Db } from '@tidings/db';
import { now } from '@tidings/model';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { type CreatedKey, createApiKey } from '../create-api-key.js';
import { noSuchKey } from '../take-api-key.js';
import {
	ApiKeySchema,
	CREATED_EXAMPLE,
	CreatedApiKeySchema,
	KEY_EXAMPLE,
	NewApiKeySchema,
	RotationSchema,
	showKey,
} from './api-key-shape.js';
import { readNewKey } from './read-api-key.js';
import { PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

/** Schemas that these operations refer to. */
export const API_KEY_SCHEMAS = [NewApiKeySchema, RotationSchema, ApiKeySchema, CreatedApiKeySchema];

const shared = { tag: 'Tenants', access: 'tenant:admin' } as const;

/** Making API keys and looking at them; acts on them are in `api-key-acts.ts`. */
export function apiKeyOperations(db: Db): Operation[] {
	return [createOperation(db), listOperation(db), oneOperation(db)];
}

function createOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/api-keys',
		operationId: 'createApiKey',
		summary: 'Make an API key',
		description:
			'Nobody can give what they do not hold; `platform` only for the platform itself. The key is shown in this answer only: what is stored is a hash.',
		body: Type.Ref('NewApiKey'),
		collectsFaults: true,
		answers: { 201: Type.Ref('CreatedApiKey') },
		headers: { Location: 'The key: `/v1/api-keys/{id}`.' },
		example: { name: 'shop', capabilities: ['messages:send', 'messages:read'] },
		answerExamples: { 201: CREATED_EXAMPLE },
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const wanted = readNewKey(request, caller);
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const made = await db.prisma.$transaction((tx) => createApiKey(tx, who, { tenantId: caller.tenant.id, ...wanted }));
			reply.code(201).header('location', `/v1/api-keys/${made.id}`);
			return showCreated(made);
		},
	});
}

function listOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/api-keys',
		operationId: 'listApiKeys',
		summary: 'List API keys, newest first',
		query: Type.Object(
			{
				...PAGE_QUERY,
				active: Type.Optional(
					Type.Enum(['true', 'false', 'all'], { description: '`true`: neither revoked nor expired; `false`: the others. Default `true`.' }),
				),
			},
			{ additionalProperties: false },
		),
		answers: { 200: pageSchema(Type.Ref('ApiKey')) },
		example: { data: [KEY_EXAMPLE], nextCursor: null },
		handle: async (request) => {
			const { limit, before } = readPage(request.query);
			const { active = 'true' } = request.query;
			const rows = await prisma.apiKey.findMany({
				where: {
					tenantId: callerOf(request).tenant.id,
					...(active === 'all' ? {} : active === 'true' ? works(now()) : { NOT: works(now()) }),
					...(before === undefined ? {} : { id: { lt: before } }),
				},
				orderBy: { id: 'desc' },
				take: limit + 1,
			});
			const page = pageOf(rows, limit);
			return { data: page.rows.map(showKey), nextCursor: page.nextCursor };
		},
	});
}

function works(at: Date) {
	return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] };
}

function oneOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/api-keys/{id}',
		operationId: 'getApiKey',
		summary: 'An API key',
		answers: { 200: Type.Ref('ApiKey') },
		example: KEY_EXAMPLE,
		handle: async (request) => {
			const key = await prisma.apiKey.findFirst({ where: { id: request.params.id, tenantId: callerOf(request).tenant.id } });
			if (key === null) throw noSuchKey();
			return showKey(key);
		},
	});
}

/** A key that was just made, with itself. */
export function showCreated({ text, stored }: CreatedKey): object {
	return { key: text, ...showKey(stored) };
}
