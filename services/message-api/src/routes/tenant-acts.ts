import { type Operation, operation, refuseStale } from '@tidings/runtime';
import { Type } from 'typebox';
import { deleteTenant } from '../tenants/delete-tenant.js';
import { resumeTenant } from '../tenants/resume-tenant.js';
import { suspendTenant } from '../tenants/suspend-tenant.js';
import { TENANT_EXAMPLE } from '../tenants/tenant-schema.js';
import { NoteBody, readNote } from './read-note.js';
import { answerTenant, type TenantsContext, tenantContextOf } from './tenants.js';

const shared = { tag: 'Tenants', access: 'platform', errors: ['state-conflict'], headers: { ETag: 'Its state now.' } } as const;

/** `POST /v1/tenants/{id}:suspend` and `:resume`, `DELETE /v1/tenants/{id}`. */
export function tenantActOperations(context: TenantsContext): Operation[] {
	return [suspendOperation(context), resumeOperation(context), deleteOperation(context)];
}

function suspendOperation(context: TenantsContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/tenants/{id}:suspend',
		operationId: 'suspendTenant',
		summary: 'Stop a tenant for a while',
		description:
			'It takes no messages (403 `tenant-not-active`; on other nodes within 15 s), and what waits does not go out. What is being sent at this moment ends as it would. All can still be read. Deadlines run on: what is too late meanwhile becomes EXPIRED. Whoever may read the tenant’s audit events reads the note.',
		body: NoteBody,
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('Tenant') },
		example: { note: 'complaints about its last mailing' },
		answerExamples: { 200: { ...TENANT_EXAMPLE, status: 'SUSPENDED' } },
		handle: async (request, reply) =>
			answerTenant(
				reply,
				await suspendTenant(tenantContextOf(context, request), request.params.id.toLowerCase(), { note: readNote(request) }),
			),
	});
}

function resumeOperation(context: TenantsContext): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/tenants/{id}:resume',
		operationId: 'resumeTenant',
		summary: 'Let a tenant go on',
		description:
			'From SUSPENDED, and from DELETING as long as erasing has not begun. What waits goes out at once, each message once; what is past its deadline is EXPIRED, and what a deletion has cancelled stays so.',
		body: NoteBody,
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('Tenant') },
		example: { note: 'its list is clean again' },
		answerExamples: { 200: TENANT_EXAMPLE },
		handle: async (request, reply) =>
			answerTenant(
				reply,
				await resumeTenant(tenantContextOf(context, request), request.params.id.toLowerCase(), { note: readNote(request) }),
			),
	});
}

function deleteOperation(context: TenantsContext): Operation {
	return operation({
		...shared,
		method: 'DELETE',
		path: '/v1/tenants/{id}',
		operationId: 'deleteTenant',
		summary: 'Delete a tenant once nothing of it waits',
		description:
			'It takes no messages any more and is DELETING until nothing is PENDING, RETRY or SENDING; messages that are HELD and open dead letters do not hold that up. Then, a minute later at the earliest, all of it is erased: messages with their contents and attempts, dead letters, mail servers with their secrets, keys. Until then its credentials can read. A DELETED tenant keeps its name (free for others), its times and its audit events. A SUSPENDED one can only be deleted with `queued=cancel`.',
		guarded: true,
		query: Type.Object(
			{
				queued: Type.Optional(
					Type.Enum(['deliver', 'cancel'], {
						description: 'What becomes of what waits: it is delivered (the default), or becomes CANCELLED and nothing more goes out.',
					}),
				),
			},
			{ additionalProperties: false },
		),
		answers: { 202: Type.Ref('Tenant') },
		example: { ...TENANT_EXAMPLE, status: 'DELETING', queued: 'deliver' },
		handle: async (request, reply) => {
			const tenant = await deleteTenant(tenantContextOf(context, request), request.params.id.toLowerCase(), {
				queued: request.query.queued ?? 'deliver',
				refuse: ({ version }) => refuseStale(request, version),
			});
			reply.code(202);
			return answerTenant(reply, tenant);
		},
	});
}
