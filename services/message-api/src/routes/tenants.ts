import type { Db } from '@tidings/db';
import { TENANT_STATUSES } from '@tidings/model';
import { callerOf, etagOf, type Operation, type OperationRequest, operation, refuseStale } from '@tidings/runtime';
import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { beginChecks, lineOf, refuseFaulty } from '../checks/faults.js';
import { TEXT_FORM } from '../checks/text.js';
import { noSuchTenant, type TenantContext } from '../tenants/act-on-tenant.js';
import { changeTenant } from '../tenants/change-tenant.js';
import { createTenant } from '../tenants/create-tenant.js';
import {
	checkSettings,
	NewTenantSchema,
	type StoredTenant,
	showTenant,
	TENANT_EXAMPLE,
	TenantChangeSchema,
	TenantSchema,
} from '../tenants/tenant-schema.js';
import { refuseControls } from './read-query.js';
import { PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

/** Schemas that these operations refer to. */
export const TENANT_SCHEMAS = [NewTenantSchema, TenantChangeSchema, TenantSchema];

/** What these operations need: `forget` has this process look up again what it remembers about tenants. */
export type TenantsContext = { readonly db: Db; forget(): void };

const shared = { tag: 'Tenants', access: 'platform' } as const;
const ETAG = { ETag: 'Its state; changes of it name it in `If-Match`.' };

/** Who asks, for the acts on tenants. */
export function tenantContextOf(context: TenantsContext, request: OperationRequest): TenantContext {
	return { ...context, actor: callerOf(request).actor, traceId: request.trace.traceId };
}

/** Answers a tenant with its ETag. */
export function answerTenant(reply: FastifyReply, tenant: StoredTenant): Static<typeof TenantSchema> {
	reply.header('etag', etagOf(tenant.version));
	return showTenant(tenant);
}

/** `POST` and `GET /v1/tenants`, `GET` and `PATCH /v1/tenants/{id}`. */
export function tenantOperations(context: TenantsContext): Operation[] {
	return [createOperation(context), listOperation(context.db), oneOperation(context.db), changeOperation(context)];
}

function createOperation(context: TenantsContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/tenants',
		operationId: 'createTenant',
		summary: 'Add a tenant',
		body: Type.Ref('NewTenant'),
		collectsFaults: true,
		answers: { 201: Type.Ref('Tenant') },
		headers: { ...ETAG, Location: 'The tenant: `/v1/tenants/{id}`.' },
		errors: ['name-taken'],
		example: { name: 'Shop', settings: { apiRatePerSecond: 50 } },
		answerExamples: { 201: TENANT_EXAMPLE },
		handle: async (request, reply) => {
			const { raw, faults } = beginChecks(request);
			lineOf(raw, 'name', '', faults);
			checkSettings(raw, faults);
			refuseFaulty(faults);
			const tenant = await createTenant(tenantContextOf(context, request), request.body as Static<typeof NewTenantSchema>);
			reply.code(201).header('location', `/v1/tenants/${tenant.id}`);
			return answerTenant(reply, tenant);
		},
	});
}

function listOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/tenants',
		operationId: 'listTenants',
		summary: 'List tenants, newest first',
		query: Type.Object(
			{
				...PAGE_QUERY,
				status: Type.Optional(Type.Enum([...TENANT_STATUSES, 'all'], { description: 'Default: all but DELETED.' })),
				name: Type.Optional(Type.String({ ...TEXT_FORM, minLength: 1, maxLength: 100, description: 'Exactly this name.' })),
			},
			{ additionalProperties: false },
		),
		answers: { 200: pageSchema(Type.Ref('Tenant')) },
		example: { data: [TENANT_EXAMPLE], nextCursor: null },
		handle: async (request) => {
			refuseControls(request.query);
			const { limit, before } = readPage(request.query);
			const { status, name } = request.query;
			// All tenants, by nature: they are the platform's.
			const rows = await prisma.tenant.findMany({
				where: {
					...(status === 'all' ? {} : { status: status ?? { not: 'DELETED' } }),
					...(name === undefined ? {} : { name }),
					...(before === undefined ? {} : { id: { lt: before } }),
				},
				orderBy: { id: 'desc' },
				take: limit + 1,
			});
			const page = pageOf(rows, limit);
			return { data: page.rows.map(showTenant), nextCursor: page.nextCursor };
		},
	});
}

function oneOperation({ prisma }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/tenants/{id}',
		operationId: 'getTenant',
		summary: 'A tenant',
		description: 'Also one that is DELETED: its name, its times and its audit events are what is left of it.',
		answers: { 200: Type.Ref('Tenant') },
		headers: ETAG,
		example: TENANT_EXAMPLE,
		handle: async (request, reply) => {
			const tenant = await prisma.tenant.findUnique({ where: { id: request.params.id } });
			if (tenant === null) throw noSuchTenant();
			return answerTenant(reply, tenant);
		},
	});
}

function changeOperation(context: TenantsContext): Operation {
	return operation({
		...shared,
		method: 'PATCH',
		path: '/v1/tenants/{id}',
		operationId: 'changeTenant',
		summary: 'Rename a tenant, or change its settings',
		description:
			'What is absent stays. A setting that is null goes back to the operator’s. Settings hold for messages that are accepted from then on (on other nodes within 15 s), and for what a person sends again; delays between attempts for whatever fails from then on.',
		guarded: true,
		body: Type.Ref('TenantChange'),
		collectsFaults: true,
		answers: { 200: Type.Ref('Tenant') },
		headers: ETAG,
		errors: ['name-taken', 'state-conflict'],
		example: { settings: { maxAgeHours: 24, apiRatePerSecond: null, retryTypes: { 'order.confirmed': { maxAttempts: 8 } } } },
		answerExamples: {
			200: {
				...TENANT_EXAMPLE,
				settings: { maxAgeHours: 24, apiRatePerSecond: null, retryTypes: { 'order.confirmed': { maxAttempts: 8 } } },
			},
		},
		handle: async (request, reply) => {
			const { raw, faults } = beginChecks(request);
			lineOf(raw, 'name', '', faults);
			checkSettings(raw, faults);
			refuseFaulty(faults);
			const tenant = await changeTenant(tenantContextOf(context, request), request.params.id.toLowerCase(), {
				change: request.body as Static<typeof TenantChangeSchema>,
				refuse: ({ version }) => refuseStale(request, version),
			});
			return answerTenant(reply, tenant);
		},
	});
}
