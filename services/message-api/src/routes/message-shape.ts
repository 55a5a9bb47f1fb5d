import type { MessageRow } from '@tidings/db';
import { CATEGORIES, CHANNELS, LANES, SEND_STATUSES } from '@tidings/model';
import type { Caller } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { createMaskAnswer, maskAddress, maskAddressesIn, maskDedupeKey } from '../checks/address.js';
import { maskValues } from '../checks/mask-values.js';
import { nullable, timeText } from './shapes.js';

const time = (description: string) => nullable(timeText(description));
const text = (description: string) => nullable(Type.String({ description }));

/** What a provider said, by its codes (RFC 5321, RFC 3463) and words. */
export const ANSWER_FIELDS = {
	code: text('Reply code, such as `550`.'),
	enhancedCode: text('Enhanced status code, such as `5.1.1`.'),
	text: text("The provider's own words."),
};

/** A message as it is read. */
export const MessageSchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		channel: Type.Enum([...CHANNELS], { description: 'What it is delivered by.' }),
		type: Type.String({ description: 'What kind of message it is, as given.' }),
		status: Type.Enum([...SEND_STATUSES], { description: 'Where it stands: docs/states.md tells what each means and what follows.' }),
		scope: Type.Enum(['TENANT', 'PLATFORM'], { description: 'Whose servers it goes through.' }),
		priority: Type.Enum([...LANES], { description: 'Its lane.' }),
		recipients: Type.Array(
			Type.Object({
				role: Type.Enum(['to', 'cc', 'bcc'], { description: 'Where the mail names it; `bcc`: nowhere.' }),
				address: Type.String({ description: 'Masked without the capability `content:read`.' }),
				outcome: Type.Enum(['OPEN', 'ACCEPTED', 'REFUSED', 'BOUNCED', 'DELIVERED'], {
					description: "`ACCEPTED` is a provider's yes, `DELIVERED` only proof.",
				}),
				...ANSWER_FIELDS,
			}),
			{ description: 'Who it is for, and what became of it at each.' },
		),
		subject: text('Null without the capability `content:read`.'),
		attempts: Type.Integer({ description: 'How often a sender took it.' }),
		budgetUsed: Type.Integer({ description: 'Attempts that counted as failed.' }),
		budgetMax: Type.Integer({ description: 'Failed attempts after which it is a dead letter.' }),
		waits: Type.Integer({ description: 'Times it was put off without an attempt being counted.' }),
		partial: Type.Boolean({ description: 'Some recipients were accepted and some were not.' }),
		ambiguous: Type.Boolean({ description: 'Of some attempt nobody knows how it ended. Once true it stays true.' }),
		reason: text('Why it ended as it did, where that is not plain.'),
		dueAt: time('When it is tried next.'),
		notBefore: time('As given.'),
		validUntil: time('As given.'),
		createdAt: timeText('When it was accepted.'),
		sentAt: time('When it was sent.'),
		finishedAt: time('When it came to its end.'),
		lastError: Type.Unsafe<{
			category: string;
			stage: string | null;
			code: string | null;
			enhancedCode: string | null;
			text: string | null;
		} | null>({
			...Type.Object({
				category: Type.Enum([...CATEGORIES], { description: 'What follows from it: a retry, an end, or a person.' }),
				stage: text('How far the conversation had come.'),
				...ANSWER_FIELDS,
			}),
			type: ['object', 'null'],
			description: 'The newest answer that was not a yes.',
		}),
		providerMessageId: text("The provider's own id."),
		serverId: nullable(Type.String({ format: 'uuid', description: 'The mail server that it was accepted for.' })),
		dedupeKey: Type.String({
			description: 'As stored, its hash of the addresses only with the capability `content:read`; `~standalone:{id}` when none was given.',
		}),
		notificationId: nullable(Type.String({ format: 'uuid', description: 'The notification that made it.' })),
		deadLetterId: nullable(Type.String({ format: 'uuid', description: 'Its open dead letter.' })),
		waitsFor: Type.Unsafe<MessageRow['waitsFor']>({
			...Type.Object({
				what: Type.Enum(['SERVER', 'ROUTE', 'TENANT', 'OUTBOX'], {
					description:
						'The gate of its mail server, its kind of message for all tenants, its tenant, or an operator who requeues its outbox entry.',
				}),
				reason: Type.String({
					description:
						'`RATE`: a limit of the server is reached. `AUTH`, `CONFIG`, `UNREACHABLE`, `QUOTA`: the server could not be used. `HALF_OPEN`: another message goes first, to see. `PAUSED`: a person stopped it. For `TENANT` its status. For `OUTBOX` `DEAD`: the broker refused it.',
				}),
				detail: text(
					"What the server said, or the note of who paused it. Null for what is the platform's: its servers, which others send through, too, and kinds of message.",
				),
				until: time('When it opens by itself; null: when what closed it is over.'),
			}),
			type: ['object', 'null'],
			description: 'What an open message waits for besides its time; null: nothing.',
		}),
		traceId: Type.String({ description: 'Quote it when you ask for help.' }),
		metadata: Type.Unsafe<Record<string, string>>({
			type: 'object',
			additionalProperties: { type: 'string' },
			description: 'Your own marks, addresses in them masked without the capability `content:read`.',
		}),
	},
	{ $id: 'Message', description: 'A message and where it stands.' },
);

/** Shows a row to a caller: addresses, also in what the sender marked, and the subject only to those who may read content. */
export function showMessage(row: MessageRow, caller: Caller): Static<typeof MessageSchema> {
	const sees = caller.capabilities.has('content:read');
	const { configId, lane, attemptNo, lastError, ...same } = row;
	const mask = sees ? null : createAnswerMask(row.recipients.map((one) => one.address));
	const dedupeKey = row.dedupeKey ?? `~standalone:${row.id}`;
	return {
		...same,
		priority: lane,
		recipients: row.recipients.map((one) => (mask === null ? one : { ...one, address: maskAddress(one.address), text: mask(one.text) })),
		subject: sees ? row.subject : null,
		attempts: attemptNo,
		dueAt: isoOf(row.dueAt),
		notBefore: isoOf(row.notBefore),
		validUntil: isoOf(row.validUntil),
		createdAt: row.createdAt.toISOString(),
		sentAt: isoOf(row.sentAt),
		finishedAt: isoOf(row.finishedAt),
		lastError: lastError === null || mask === null ? lastError : { ...lastError, text: mask(lastError.text) },
		serverId: configId,
		waitsFor: row.waitsFor === null || mask === null ? row.waitsFor : { ...row.waitsFor, detail: mask(row.waitsFor.detail) },
		dedupeKey: sees ? dedupeKey : maskAddressesIn(maskDedupeKey(dedupeKey)),
		metadata: sees ? row.metadata : maskValues(row.metadata),
	};
}

/** Makes what shows a provider's answers to those who may not read content. `addresses`: all of the message. */
export function createAnswerMask(addresses: readonly string[]): (answer: string | null) => string | null {
	const mask = createMaskAnswer(addresses);
	return (answer) => (answer === null ? null : mask(answer));
}

/** A time as answers show it. */
function isoOf(time: Date | null): string | null {
	return time === null ? null : time.toISOString();
}
