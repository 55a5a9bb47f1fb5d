import { CAPABILITIES } from '@tidings/model';
import { type Static, type TObject, Type } from 'typebox';
import { LINE_FORM } from '../checks/text.js';
import type { StoredApiKey } from '../take-api-key.js';
import { nullable, timeText } from './shapes.js';

const closed = { additionalProperties: false } as const;
const capability = 'What it may do.';

/** The longest grace of a rotated key: 30 days. */
const LONGEST_GRACE = 2_592_000;
/** Its default: a day. */
export const DEFAULT_GRACE = 86_400;

export const NewApiKeySchema = Type.Object(
	{
		name: Type.String({ ...LINE_FORM, minLength: 1, maxLength: 100, description: 'Tells it from others.' }),
		capabilities: Type.Array(Type.Enum([...CAPABILITIES]), {
			minItems: 1,
			maxItems: CAPABILITIES.length,
			description: 'Of those that the caller holds, each once.',
		}),
		expiresAt: Type.Optional(Type.String({ maxLength: 40, format: 'date-time', description: 'RFC 3339, in the future. Default: never.' })),
	},
	{ $id: 'NewApiKey', ...closed },
);

export const RotationSchema = Type.Object(
	{
		graceSeconds: Type.Optional(
			Type.Integer({
				minimum: 0,
				maximum: LONGEST_GRACE,
				description: `How long the old key works on, never longer than it would have; 0: it is revoked at once. Default: ${DEFAULT_GRACE}.`,
			}),
		),
		expiresAt: Type.Optional(
			Type.String({
				maxLength: 40,
				format: 'date-time',
				description: 'When the new key stops working: RFC 3339, in the future. Default: it lives as long as the old one was made for.',
			}),
		),
	},
	{ $id: 'ApiKeyRotation', ...closed },
);

export const ApiKeySchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		keyId: Type.String({ description: 'Its public part, as audits show it.' }),
		name: Type.String(),
		capabilities: Type.Array(Type.String(), { description: capability }),
		createdAt: timeText('When it was made.'),
		expiresAt: nullable(timeText('When it stops working; null: never.')),
		revokedAt: nullable(timeText('When it was revoked; null: it was not.')),
		lastUsedAt: nullable(timeText('When it let a request in last, known to the minute or so; null: not yet.')),
	},
	{ $id: 'ApiKey', description: 'An API key, without the key itself.' },
);

export const CreatedApiKeySchema = Type.Object(
	{
		key: Type.String({ description: 'The key itself. It is shown now and never again.' }),
		...(ApiKeySchema as TObject).properties,
	},
	{ $id: 'CreatedApiKey', description: 'The new API key, with the key itself.' },
);

/** A key as it is shown. */
export function showKey(key: StoredApiKey): Static<typeof ApiKeySchema> {
	return {
		id: key.id,
		keyId: key.keyId,
		name: key.name,
		capabilities: key.capabilities,
		createdAt: key.createdAt.toISOString(),
		expiresAt: key.expiresAt?.toISOString() ?? null,
		revokedAt: key.revokedAt?.toISOString() ?? null,
		lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
	};
}

/** A key as it is shown, for examples. */
export const KEY_EXAMPLE = {
	id: '01930b62-1f0e-7b1c-8a54-90d3c1f2ab10',
	keyId: '4f2a9c0de1b37586',
	name: 'shop',
	capabilities: ['messages:send', 'messages:read'],
	createdAt: '2026-11-30T09:00:00.120Z',
	expiresAt: null,
	revokedAt: null,
	lastUsedAt: '2026-11-30T09:41:07.004Z',
};

/** A key that was just made. */
export const CREATED_EXAMPLE = {
	...KEY_EXAMPLE,
	key: 'tdg_4f2a9c0de1b37586_9Jx2mQvT0bYc7hLr5NwZk3eUo8aSfPdG1iXtRqMyB6s',
	lastUsedAt: null,
};
