import type { Db } from '@tidings/db';
import { CAPABILITIES, type Capability, newId, now, Problem } from '@tidings/model';
import { type Caller, callerOf, faultsGiven, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { audit } from '../audit.js';
import { collectFaults, type Faults, lineOf, listOf, type Raw, rawOf } from '../checks/faults.js';
import { readTime } from '../checks/time.js';
import { createApiKey } from '../create-api-key.js';
import { insertUnique } from '../insert-unique.js';
import { nullable, timeText } from './shapes.js';

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
const NewApiKey = Type.Object(
	{
		name: Name,
		capabilities: Type.Array(Type.Enum([...CAPABILITIES]), {
			minItems: 1,
			maxItems: CAPABILITIES.length,
			description: 'Of those that the caller holds.',
		}),
		expiresAt: Type.Optional(Type.String({ maxLength: 40, description: 'RFC 3339, in the future. Default: never.' })),
	},
	{ $id: 'NewApiKey', ...closed },
);
const ApiKey = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		key: Type.String({ description: 'The key itself. It is shown now and never again.' }),
		keyId: Type.String({ description: 'Its public part, as audits show it.' }),
		name: Type.String(),
		capabilities: Type.Array(Type.String()),
		createdAt: timeText('When it was made.'),
		expiresAt: nullable(timeText('When it stops working.')),
	},
	{ $id: 'ApiKey' },
);

/** Schemas that these operations refer to. */
export const TENANT_SCHEMAS = [NewTenant, Tenant, NewApiKey, ApiKey];

/** `POST /v1/tenants` and `POST /v1/api-keys`. */
export function tenantOperations(db: Db): Operation[] {
	return [tenantOperation(db), apiKeyOperation(db)];
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
			const { raw, faults } = begin(request);
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

function apiKeyOperation(db: Db): Operation {
	return operation({
		method: 'POST',
		path: '/v1/api-keys',
		operationId: 'createApiKey',
		tag: 'Tenants',
		access: 'tenant:admin',
		summary: 'Make an API key',
		description: 'Nobody can give what they do not hold; `platform` only for the platform itself.',
		body: Type.Ref('NewApiKey'),
		collectsFaults: true,
		answers: { 201: Type.Ref('ApiKey') },
		example: { name: 'shop', capabilities: ['messages:send', 'messages:read'] },
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const { name, capabilities, expiresAt } = readKey(begin(request), request.body as Static<typeof NewApiKey>, caller);
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const key = await db.prisma.$transaction((tx) =>
				createApiKey(tx, who, { tenantId: caller.tenant.id, name, capabilities, expiresAt }),
			);
			reply.code(201);
			return {
				id: key.id,
				key: key.text,
				keyId: key.keyId,
				name,
				capabilities,
				createdAt: key.createdAt.toISOString(),
				expiresAt: expiresAt?.toISOString() ?? null,
			};
		},
	});
}

function begin(request: Parameters<typeof faultsGiven>[0] & { readonly body: unknown }): { raw: Raw; faults: Faults } {
	return { raw: rawOf(request.body) ?? {}, faults: collectFaults(faultsGiven(request)) };
}

function refuseFaulty(faults: Faults): void {
	if (faults.list.length > 0) throw new Problem('invalid-request', 'The request is refused. Nothing was written.', { faults: faults.list });
}

function readKey(
	{ raw, faults }: { raw: Raw; faults: Faults },
	body: Static<typeof NewApiKey>,
	caller: Caller,
): { name: string; capabilities: readonly Capability[]; expiresAt: Date | null } {
	lineOf(raw, 'name', '', faults);
	const given = faults.isTooLong('/expiresAt') ? undefined : raw['expiresAt'];
	const expiresAt = typeof given === 'string' ? readTime(given) : null;
	if (typeof given === 'string' && expiresAt === null)
		faults.add('/expiresAt', 'bad-format', '`expiresAt` must be an RFC 3339 time with a zone.');
	if (expiresAt !== null && expiresAt <= now()) faults.add('/expiresAt', 'in-the-past', 'This time has passed already.');
	const wanted = listOf(raw['capabilities'], CAPABILITIES.length);
	for (const [index, capability] of wanted.entries()) {
		if (wanted.indexOf(capability) < index) faults.add(`/capabilities/${index}`, 'duplicate', 'This capability stands twice.');
		if (capability === 'platform' && caller.tenant.kind !== 'PLATFORM')
			faults.add(`/capabilities/${index}`, 'platform-only', 'Only keys of the platform itself may hold it.');
	}
	refuseFaulty(faults);
	const lacking = body.capabilities.filter((one) => !caller.capabilities.has(one));
	if (lacking.length > 0)
		throw new Problem('capability-missing', `Nobody can give what they do not hold: ${lacking.map((one) => `\`${one}\``).join(', ')}.`);
	return { name: body.name, capabilities: body.capabilities, expiresAt };
}
