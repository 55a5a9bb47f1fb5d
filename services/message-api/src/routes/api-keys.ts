import type { Db } from '@tidings/db';
import { CAPABILITIES, type Capability, now, Problem } from '@tidings/model';
import { type Caller, callerOf, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { beginChecks, type Faults, lineOf, listOf, type Raw, refuseFaulty } from '../checks/faults.js';
import { readTime } from '../checks/time.js';
import { createApiKey } from '../create-api-key.js';
import { nullable, timeText } from './shapes.js';

const closed = { additionalProperties: false } as const;
const Name = Type.String({ minLength: 1, maxLength: 100 });
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
export const API_KEY_SCHEMAS = [NewApiKey, ApiKey];

/** `POST /v1/api-keys`. */
export function apiKeyOperations(db: Db): Operation[] {
	return [apiKeyOperation(db)];
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
			const { name, capabilities, expiresAt } = readKey(beginChecks(request), request.body as Static<typeof NewApiKey>, caller);
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
