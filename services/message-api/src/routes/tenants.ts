import type { Db } from '@tidings/db';
import { newId } from '@tidings/model';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { audit } from '../audit.js';
import { beginChecks, lineOf, refuseFaulty } from '../checks/faults.js';
import { insertUnique } from '../insert-unique.js';
import { timeText } from './shapes.js';

const closed = { additionalProperties: false } as const;
const Name = Type.String({ minLength: 1, maxLength: 100 });
const NewTenant = Type.Object({ name: Name }, { $id: 'NewTenant', ...closed });
const Tenant = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		name: Type.String(),
		kind: Type.String(),
		status: Type.String(),
		createdAt: timeText('When it was made.'),
	},
	{ $id: 'Tenant' },
);
/** Schemas that these operations refer to. */
export const TENANT_SCHEMAS = [NewTenant, Tenant];

/** `POST /v1/tenants`. */
export function tenantOperations(db: Db): Operation[] {
	return [tenantOperation(db)];
}

function tenantOperation(db: Db): Operation {
	return operation({
		method: 'POST',
		path: '/v1/tenants',
		operationId: 'createTenant',
		tag: 'Tenants',
		access: 'platform',
		summary: 'Add a tenant',
		body: Type.Ref('NewTenant'),
		collectsFaults: true,
		answers: { 201: Type.Ref('Tenant') },
		errors: ['name-taken'],
		example: { name: 'Shop' },
		handle: async (request, reply) => {
			const { raw, faults } = beginChecks(request);
			lineOf(raw, 'name', '', faults);
			refuseFaulty(faults);
			const { name } = request.body as Static<typeof NewTenant>;
			const who = { actor: callerOf(request).actor, traceId: request.trace.traceId };
			const tenant = await insertUnique(db, { tenantId: null, taken: 'A tenant has this name already.' }, async (tx) => {
				const made = await tx.tenant.create({ data: { id: newId(), name } });
				await audit(tx, who, { tenantId: made.id, action: 'tenant.create', subjectType: 'tenant', subjectId: made.id, detail: { name } });
				return made;
			});
			reply.code(201);
			return { id: tenant.id, name, kind: tenant.kind, status: tenant.status, createdAt: tenant.createdAt.toISOString() };
		},
	});
}
