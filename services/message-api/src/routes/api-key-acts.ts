import type { Db } from '@tidings/db';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { revokeApiKey } from '../revoke-api-key.js';
import { rotateApiKey } from '../rotate-api-key.js';
import { CREATED_EXAMPLE, KEY_EXAMPLE, showKey } from './api-key-shape.js';
import { showCreated } from './api-keys.js';
import { readRotation } from './read-api-key.js';

/** What acts on keys need. */
export type KeyActContext = {
	readonly db: Db;
	/** Has this process look at a key anew. */
	readonly forget: (keyId: string) => void;
};

const shared = { method: 'POST', tag: 'Tenants', access: 'tenant:admin', errors: ['state-conflict'] } as const;
/** Clients that always send a body may; what it says is refused by name, not ignored. */
const Nothing = Type.Object({}, { additionalProperties: false });

/** `POST /v1/api-keys/{id}:revoke` and `:rotate`. */
export function apiKeyActOperations(context: KeyActContext): Operation[] {
	return [revokeOperation(context), rotateOperation(context)];
}

function revokeOperation({ db, forget }: KeyActContext): Operation {
	return operation({
		...shared,
		path: '/v1/api-keys/{id}:revoke',
		operationId: 'revokeApiKey',
		summary: 'Revoke an API key',
		description: 'It stops working everywhere within 30 s, and for good.',
		body: Nothing,
		bodyOptional: true,
		answers: { 200: Type.Ref('ApiKey') },
		example: {},
		answerExamples: { 200: { ...KEY_EXAMPLE, revokedAt: '2026-11-30T10:00:00.000Z' } },
		handle: async (request) => {
			const caller = callerOf(request);
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const key = await revokeApiKey(db, who, { tenantId: caller.tenant.id, id: request.params.id.toLowerCase() });
			forget(key.keyId);
			return showKey(key);
		},
	});
}

function rotateOperation({ db, forget }: KeyActContext): Operation {
	return operation({
		...shared,
		path: '/v1/api-keys/{id}:rotate',
		operationId: 'rotateApiKey',
		summary: 'Replace an API key by a new one',
		description:
			'The new key has the same name and capabilities and is shown in this answer only. The old one works on for the grace, and cannot be rotated again. The caller must hold every capability of the key.',
		body: Type.Ref('ApiKeyRotation'),
		bodyOptional: true,
		collectsFaults: true,
		answers: { 201: Type.Ref('CreatedApiKey') },
		headers: { Location: 'The new key: `/v1/api-keys/{id}`.' },
		example: { graceSeconds: 3_600 },
		answerExamples: { 201: CREATED_EXAMPLE },
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const { made, old } = await rotateApiKey(db, who, {
				tenantId: caller.tenant.id,
				id: request.params.id.toLowerCase(),
				held: caller.capabilities,
				...readRotation(request),
			});
			forget(old.keyId);
			reply.code(201).header('location', `/v1/api-keys/${made.stored.id}`);
			return showCreated(made);
		},
	});
}
