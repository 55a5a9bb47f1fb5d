import { LIMITS } from '@tidings/model';
import { type Static, Type } from 'typebox';
import { LINE_FORM } from '../checks/text.js';
import { nullable, timeText } from '../routes/shapes.js';
import type { ShownGate } from './gate-shape.js';

const closed = { additionalProperties: false } as const;
const SECURITY = ['none', 'starttls', 'tls'] as const;
const AMBIGUOUS = ['resend', 'hold'] as const;
const TIERS = ['TENANT', 'PLATFORM'] as const;
const window = (what: string) =>
	Type.Optional(
		nullable(
			Type.Integer({
				minimum: 0,
				maximum: 1_000_000_000,
				description: `${what}, over all senders; what is above it waits, and no attempt is counted. A mail with more recipients counts as the whole limit. Absent, null or 0: no limit.`,
			}),
		),
	);

/** What a mail server must have. */
const NEEDED = {
	name: Type.String({ ...LINE_FORM, minLength: 1, maxLength: 100, description: 'Unique for the tenant.' }),
	host: Type.String({
		minLength: 1,
		maxLength: 253,
		description: 'Host name or IP address. Addresses of private networks are refused unless the operator allows them.',
	}),
	port: Type.Integer({ minimum: 1, maximum: 65_535 }),
	security: Type.Enum([...SECURITY], {
		description:
			'`tls`: from the first byte. `starttls`: never in clear. `none`: in clear, the password too; for servers on your own network.',
	}),
};
const username = Type.String({ ...LINE_FORM, minLength: 1, maxLength: 320 });
const password = Type.String({ ...LINE_FORM, minLength: 1, maxLength: 1_024, description: 'Sealed when it is stored, and never shown.' });
const FROM = {
	address: Type.String({ minLength: 1, maxLength: LIMITS.address, format: 'idn-email' }),
	name: Type.Optional(nullable(Type.String({ maxLength: LIMITS.displayName }))),
};
const allowedFrom = Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.address }), {
	minItems: 1,
	maxItems: 100,
	description: 'Addresses, or `*@domain`, that mails may name as From. Default: the address of `from`.',
});
const WINDOWS = { ratePerMinute: window('Recipients a minute'), dailyLimit: window('Recipients a day (UTC)') };
const ambiguous = Type.Optional(
	Type.Enum([...AMBIGUOUS], {
		description: 'When nobody knows whether a mail was accepted: send it again, or hold it for a person. Default `resend`.',
	}),
);
const DKIM = {
	domain: Type.String({ minLength: 1, maxLength: 253, description: 'The domain that signs.' }),
	selector: Type.String({ minLength: 1, maxLength: 63, description: 'Where its public key stands: `{selector}._domainkey.{domain}`.' }),
	privateKey: Type.String({
		minLength: 1,
		maxLength: 16_384,
		description: 'An RSA key as PEM. Sealed when it is stored, and never shown.',
	}),
};

/** A mail server to be made. */
export const NewServerSchema = Type.Object(
	{
		...NEEDED,
		username: Type.Optional(username),
		password: Type.Optional(password),
		from: Type.Object(FROM, { ...closed, description: 'The From of mails that name none.' }),
		allowedFrom: Type.Optional(allowedFrom),
		default: Type.Optional(
			Type.Boolean({
				description:
					'Takes the mails that name no server; the default until now is one no longer. Only an active server can. When absent: whether it is active and the tenant has no active default yet.',
			}),
		),
		...WINDOWS,
		ambiguous,
		dkim: Type.Optional(Type.Object(DKIM, { ...closed, description: 'Signs every mail (RFC 6376).' })),
		active: Type.Optional(Type.Boolean({ description: 'Default true.' })),
		scope: Type.Optional(
			Type.Enum([...TIERS], {
				description:
					"`PLATFORM`: one of the platform's own, which serve tenants without a server; needs the capability `platform`. Default `TENANT`: of the tenant that the request is about.",
			}),
		),
	},
	{ $id: 'NewMailServer', ...closed },
);
export type NewServer = Static<typeof NewServerSchema>;

/** What changes of a mail server: JSON Merge Patch (RFC 7396). */
export const ServerChangeSchema = Type.Object(
	{
		...Type.Partial(Type.Object(NEEDED)).properties,
		username: Type.Optional(nullable(username)),
		password: Type.Optional(nullable(password)),
		from: Type.Optional(
			Type.Object({ ...FROM, address: Type.Optional(FROM.address) }, { ...closed, description: 'The From of mails that name none.' }),
		),
		allowedFrom: Type.Optional(nullable(allowedFrom)),
		default: Type.Optional(Type.Boolean({ description: '`true`: the default until now is one no longer. Only an active server can.' })),
		...WINDOWS,
		ambiguous,
		dkim: Type.Optional(
			nullable(
				Type.Object(
					{
						domain: Type.Optional(DKIM.domain),
						selector: Type.Optional(DKIM.selector),
						privateKey: Type.Optional(DKIM.privateKey),
					},
					{ ...closed, description: 'Null: mails are not signed any more.' },
				),
			),
		),
		active: Type.Optional(
			Type.Boolean({
				description: '`false`: takes no more mails, and is the default no longer. What was accepted for it still goes through it.',
			}),
		),
	},
	{
		$id: 'MailServerChange',
		...closed,
		description:
			'What is absent stays as it is. A login is a username and a password: null for one of them, with the other absent or null, removes both. A new `host` or `security` needs the password again: a stored one is not taken elsewhere. `allowedFrom` null: only the address of `from`.',
	},
);
export type ServerChange = Static<typeof ServerChangeSchema>;

/** A mail server as it is read: without its secrets. */
export const ServerSchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		name: Type.String(),
		scope: Type.Enum([...TIERS], { description: "`PLATFORM`: one of the platform's own." }),
		host: Type.String(),
		port: Type.Integer(),
		security: Type.Enum([...SECURITY], { description: 'How the connection is kept private.' }),
		username: nullable(Type.String({ description: 'Null: no login.' })),
		hasPassword: Type.Boolean({ description: 'Whether there is a password; it is never shown.' }),
		from: Type.Object({ address: Type.String(), name: nullable(Type.String()) }, { description: 'The From of mails that name none.' }),
		allowedFrom: Type.Array(Type.String(), { description: 'Addresses, or `*@domain`, that mails may name as From.' }),
		default: Type.Boolean({ description: 'Takes the mails that name no server.' }),
		ratePerMinute: nullable(Type.Integer({ description: 'Recipients a minute; null: no limit.' })),
		dailyLimit: nullable(Type.Integer({ description: 'Recipients a day; null: no limit.' })),
		ambiguous: Type.Enum([...AMBIGUOUS], { description: 'What becomes of a mail of which nobody knows whether it was accepted.' }),
		dkim: nullable(
			Type.Object(
				{
					domain: Type.String({ description: 'The domain that signs.' }),
					selector: Type.String({ description: 'Where its public key stands: `{selector}._domainkey.{domain}`.' }),
				},
				{ description: 'Signs every mail; null: mails are not signed.' },
			),
		),
		active: Type.Boolean(),
		gate: Type.Unsafe<ShownGate>(Type.Ref('Gate')),
		createdAt: timeText('When it was made.'),
		updatedAt: timeText('When it was changed.'),
	},
	{ $id: 'MailServer', description: 'A mail server. Passwords and keys are never shown.' },
);
export type ShownServer = Static<typeof ServerSchema>;
