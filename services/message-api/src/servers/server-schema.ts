import { LIMITS } from '@tidings/model';
import { type Static, Type } from 'typebox';
import { nullable, timeText } from '../routes/shapes.js';

const closed = { additionalProperties: false } as const;
const window = (what: string) =>
	Type.Optional(
		nullable(
			Type.Integer({ minimum: 0, description: `${what}; absent, null or 0: no limit. Any other value is not available in this release.` }),
		),
	);

/** A mail server to be made. */
export const NewServerSchema = Type.Object(
	{
		name: Type.String({ minLength: 1, maxLength: 100, description: 'Unique for the tenant.' }),
		host: Type.String({
			minLength: 1,
			maxLength: 253,
			description: 'Host name or IP address. Addresses of private networks are refused unless the operator allows them.',
		}),
		port: Type.Integer({ minimum: 1, maximum: 65_535 }),
		security: Type.Enum(['none', 'starttls', 'tls'], {
			description:
				'`tls`: from the first byte. `starttls`: never in clear. `none`: in clear, the password too; for servers on your own network.',
		}),
		username: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
		password: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'Sealed when it is stored, and never shown.' })),
		from: Type.Object(
			{
				address: Type.String({ minLength: 1, maxLength: LIMITS.address }),
				name: Type.Optional(nullable(Type.String({ maxLength: LIMITS.displayName }))),
			},
			{ ...closed, description: 'The From of mails that name none.' },
		),
		allowedFrom: Type.Optional(
			Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.address }), {
				minItems: 1,
				maxItems: 100,
				description: 'Addresses, or `*@domain`, that mails may name as From. Default: the address of `from`.',
			}),
		),
		default: Type.Optional(
			Type.Boolean({
				description:
					'Takes the mails that name no server; the default until now is one no longer. Only an active server can. When absent: whether it is active and the tenant has no active default yet.',
			}),
		),
		ratePerMinute: window('Recipients a minute'),
		dailyLimit: window('Recipients a day'),
		ambiguous: Type.Optional(
			Type.Enum(['resend', 'hold'], {
				description: 'When nobody knows whether a mail was accepted: send it again, or hold it for a person. Default `resend`.',
			}),
		),
		dkim: Type.Optional(
			Type.Object(
				{
					domain: Type.String({ minLength: 1, maxLength: 253 }),
					selector: Type.String({ minLength: 1, maxLength: 63 }),
					privateKey: Type.String({
						minLength: 1,
						maxLength: 16_384,
						description: 'An RSA key as PEM. Sealed when it is stored, and never shown.',
					}),
				},
				closed,
			),
		),
		active: Type.Optional(Type.Boolean({ description: 'Default true.' })),
	},
	{ $id: 'NewMailServer', ...closed },
);
export type NewServer = Static<typeof NewServerSchema>;

/** A mail server as it is read: without its secrets. */
export const ServerSchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		name: Type.String(),
		host: Type.String(),
		port: Type.Integer(),
		security: Type.String(),
		username: nullable(Type.String()),
		hasPassword: Type.Boolean(),
		from: Type.Object({ address: Type.String(), name: nullable(Type.String()) }),
		allowedFrom: Type.Array(Type.String()),
		default: Type.Boolean(),
		ratePerMinute: nullable(Type.Integer()),
		dailyLimit: nullable(Type.Integer()),
		ambiguous: Type.String(),
		dkim: Type.Unsafe<{ domain: string; selector: string } | null>({
			...Type.Object({ domain: Type.String(), selector: Type.String() }),
			type: ['object', 'null'],
		}),
		active: Type.Boolean(),
		createdAt: timeText('When it was made.'),
		updatedAt: timeText('When it was changed.'),
	},
	{ $id: 'MailServer', description: 'A mail server. Passwords and keys are never shown.' },
);
