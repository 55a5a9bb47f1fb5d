import { LANES, LIMITS } from '@tidings/model';
import { type TSchema, Type } from 'typebox';
import { LINE_FORM, TEXT_FORM } from '../checks/text.js';

const NEEDED_LINE = { 'x-document': { ...LINE_FORM['x-document'], minLength: 1 } };
const closed = { additionalProperties: false } as const;

/** Texts by name. Written out, because a pattern for names would let one with a line break pass unchecked. */
function texts(description: string, most: { entries: number; length: number }): ReturnType<typeof Type.Unsafe<Record<string, string>>> {
	const additionalProperties = { type: 'string', maxLength: most.length };
	return Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties, maxProperties: most.entries, description });
}

const addressText = (description: string): TSchema =>
	Type.String({ minLength: 1, maxLength: LIMITS.address, format: 'idn-email', description });

/** A mailbox: an address, or an address with a name. */
const MailboxSchema = Type.Union(
	[
		addressText('One plain address, such as `ann@example.com`.'),
		Type.Object(
			{
				address: addressText('One plain address.'),
				name: Type.Optional(Type.String({ ...LINE_FORM, maxLength: LIMITS.displayName, description: 'The name that people see.' })),
			},
			closed,
		),
	],
	{
		$id: 'Mailbox',
		description: 'One mailbox: a plain address, or an address with a name. An internationalised domain is stored as A-labels.',
	},
);

const mailboxes = (most: number, least: number, description: string): TSchema =>
	Type.Array(Type.Ref('Mailbox'), { minItems: least, maxItems: most, description });
const time = (description: string): TSchema =>
	Type.Optional(Type.String({ maxLength: 40, format: 'date-time', description: `${description} RFC 3339 with a zone.` }));

const AttachmentSchema = Type.Object(
	{
		filename: Type.String({ minLength: 1, maxLength: 1_024, description: 'Stored without folders and cut to 255 bytes.' }),
		contentType: Type.Optional(Type.String({ maxLength: LIMITS.contentType, description: 'Default `application/octet-stream`.' })),
		content: Type.String({ description: `Base64 with padding, without line breaks. ${LIMITS.attachmentBytes} bytes decoded in all.` }),
		contentId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Shown inside the HTML by `cid:…`.' })),
	},
	closed,
);

/** One mail to send. */
const MailSchema = Type.Object(
	{
		to: mailboxes(LIMITS.to, 1, 'Who it is for.'),
		cc: Type.Optional(mailboxes(LIMITS.cc, 0, 'Who gets a copy, seen by all.')),
		bcc: Type.Optional(mailboxes(LIMITS.bcc, 0, 'Who gets a copy, seen by nobody.')),
		replyTo: Type.Optional(Type.Ref('Mailbox')),
		from: Type.Optional(Type.Ref('Mailbox')),
		subject: Type.Optional(Type.String({ ...NEEDED_LINE, maxLength: LIMITS.subject, description: 'One line. Needed.' })),
		text: Type.Optional(
			Type.String({ ...TEXT_FORM, maxLength: LIMITS.bodyCharacters, description: 'The body as plain text. `text` or `html` is needed.' }),
		),
		html: Type.Optional(Type.String({ ...TEXT_FORM, maxLength: LIMITS.bodyCharacters, description: 'The body as HTML.' })),
		template: Type.Optional(Type.Unknown({ description: 'Not available in this release: refused with `not-available`.' })),
		attachments: Type.Optional(
			Type.Array(AttachmentSchema, { maxItems: LIMITS.attachments, description: 'Files that go with it, and images in its HTML.' }),
		),
		headers: Type.Optional(
			texts(
				'Further headers: `X-*`, `List-*`, `Auto-Submitted`, `Precedence`; `References` and `In-Reply-To` with message ids. A line, with its name, has at most 998 characters.',
				{
					entries: LIMITS.headers,
					length: LIMITS.headerValue,
				},
			),
		),
		type: Type.Optional(
			Type.String({
				...LINE_FORM,
				minLength: 1,
				maxLength: LIMITS.type,
				description: 'What kind of message it is, for lists and retry policies. Default `mail`.',
			}),
		),
		priority: Type.Optional(Type.Enum([...LANES], { description: 'Default `normal`.' })),
		scope: Type.Optional(
			Type.Enum(['TENANT', 'PLATFORM'], {
				description: "`PLATFORM`: by the platform's own servers; needs the capability `platform`. Default `TENANT`.",
			}),
		),
		serverId: Type.Optional(
			Type.String({ format: 'uuid', description: "Pins the mail server. Default: the tenant's default server, else the platform's." }),
		),
		dedupeKey: Type.Optional(
			Type.String({
				...LINE_FORM,
				minLength: 1,
				maxLength: LIMITS.dedupeKey,
				description: 'A second mail with the same key and the same `to` is not accepted again.',
			}),
		),
		notBefore: time('Not sent before this time.'),
		validUntil: time('Not sent after this time; in the future. Default: 72 hours after it is first due.'),
		metadata: Type.Optional(
			texts('Your own marks; messages can be found by them.', { entries: LIMITS.metadataKeys, length: LIMITS.metadataValue }),
		),
	},
	{
		$id: 'Mail',
		...closed,
		description: 'A mail to send.',
		'x-document': {
			required: ['to', 'subject'],
			anyOf: ['text', 'html'].map((body) => ({ required: [body], properties: { [body]: { minLength: 1 } } })),
		},
	},
);

/** Several mails at once. */
const MailBatchSchema = Type.Object(
	{
		items: Type.Array(Type.Ref('Mail'), { minItems: 1, maxItems: LIMITS.batchItems, description: 'Accepted all together or not at all.' }),
	},
	{ $id: 'MailBatch', ...closed },
);

/** Every schema of a submitted mail; they refer to each other by `$id`. */
export const MAIL_SCHEMAS = [MailboxSchema, MailSchema, MailBatchSchema];
