import type { Db } from '@tidings/db';
import { Problem } from '@tidings/model';
import { type Caller, callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { readTimeline } from '../read-timeline.js';
import { ANSWER_FIELDS, createAnswerMask } from './message-shape.js';
import { noSuchMessage } from './messages.js';
import { createRecordMasks } from './record-masks.js';
import { nullable, timeText } from './shapes.js';

const AttemptSchema = Type.Object(
	{
		attemptNo: Type.Integer({ description: 'Which attempt, from 1.' }),
		tryNo: Type.Integer({ description: 'Several when one attempt went to several providers.' }),
		startedAt: timeText('When a sender took it.'),
		finishedAt: timeText('When its end was written.'),
		provider: Type.String({ description: 'Who was asked, such as `smtp`.' }),
		outcome: Type.Enum(['ACCEPTED', 'PARTIAL', 'REFUSED', 'AMBIGUOUS', 'UNKNOWN'], {
			description:
				'`PARTIAL`: some recipients were accepted. `AMBIGUOUS`: nobody knows whether it was sent. `UNKNOWN`: it ended before anything was handed over.',
		}),
		stage: nullable(Type.String({ description: 'How far the conversation had come.' })),
		category: nullable(Type.String({ description: 'Kind of the refusal; null when there was none.' })),
		...ANSWER_FIELDS,
		ambiguous: Type.Boolean({ description: 'Nobody knows whether this try sent it.' }),
		worker: Type.String({ description: 'Which sender tried.' }),
	},
	{ $id: 'Attempt', description: 'One try to deliver a message.' },
);

const TimelineSchema = Type.Object(
	{
		at: timeText('When.'),
		event: Type.Enum(['accepted', 'published', 'claimed', 'attempt', 'settled', 'acted'], {
			description:
				'`published`: laid into its topic. `claimed`: a sender took it. `attempt`: a try ended. `settled`: it came to its end. `acted`: a person did something.',
		}),
		attemptNo: nullable(Type.Integer({ description: '`published`, `claimed`, `attempt`: of which attempt.' })),
		status: nullable(Type.String({ description: '`settled`: where it came to its end.' })),
		outcome: nullable(Type.String({ description: '`attempt`: how it ended.' })),
		worker: nullable(Type.String({ description: '`claimed`: which sender.' })),
		actor: nullable(Type.String({ description: '`acted`: who.' })),
		action: nullable(Type.String({ description: '`acted`: what.' })),
		note: nullable(Type.String({ description: '`acted`: what they noted, addresses masked without the capability `content:read`.' })),
	},
	{ $id: 'TimelineEntry', description: 'One thing that happened to a message.' },
);

const Mailbox = {
	address: Type.String({ description: 'In full.' }),
	name: nullable(Type.String({ description: 'The name that people see.' })),
};
/** What is sent. */
export const ContentSchema = Type.Object(
	{
		subject: nullable(Type.String({ description: 'The subject.' })),
		text: nullable(Type.String({ description: 'The body as plain text.' })),
		html: nullable(Type.String({ description: 'The body as HTML. It is not made harmless: show it in a sandbox only.' })),
		headers: Type.Unsafe<Record<string, string>>({
			type: 'object',
			additionalProperties: { type: 'string' },
			description: 'Further headers.',
		}),
		from: Type.Object(Mailbox, { description: 'Who it is from.' }),
		replyTo: Type.Unsafe<{ address: string; name: string | null } | null>({
			...Type.Object(Mailbox),
			type: ['object', 'null'],
			description: 'Where answers go; null: to `from`.',
		}),
		recipients: Type.Array(Type.Object({ role: Type.Enum(['to', 'cc', 'bcc']), ...Mailbox }), { description: 'Who it is for.' }),
		attachments: Type.Array(
			Type.Object({
				filename: Type.String(),
				contentType: Type.String(),
				contentId: nullable(Type.String({ description: 'By which the HTML shows it.' })),
				bytes: Type.Integer({ description: 'How large it is, decoded.' }),
			}),
			{ description: 'What is attached, without the content.' },
		),
	},
	{ $id: 'MessageContent', description: 'What is sent, as it was rendered at acceptance.' },
);

/** Schemas that these operations refer to. */
export const DETAIL_ANSWERS = [AttemptSchema, TimelineSchema, ContentSchema];

const ATTEMPTS_EXAMPLE = {
	data: [
		{
			attemptNo: 1,
			tryNo: 1,
			startedAt: '2026-11-30T09:00:00.050Z',
			finishedAt: '2026-11-30T09:00:00.120Z',
			provider: 'smtp',
			outcome: 'ACCEPTED',
			stage: 'DOT',
			category: null,
			code: '250',
			enhancedCode: '2.0.0',
			text: 'OK',
			ambiguous: false,
			worker: 'mail-sender-1',
		},
	],
	nextCursor: null,
};
const TIMELINE_EXAMPLE = {
	data: [
		{
			at: '2026-11-30T09:00:00.000Z',
			event: 'accepted',
			attemptNo: null,
			status: null,
			outcome: null,
			worker: null,
			actor: null,
			action: null,
			note: null,
		},
	],
	nextCursor: null,
};
const CONTENT_EXAMPLE = {
	subject: 'Your order A-17',
	text: 'It is on its way.',
	html: null,
	headers: {},
	from: { address: 'shop@example.com', name: 'Shop' },
	replyTo: null,
	recipients: [{ role: 'to', address: 'ann@example.com', name: null }],
	attachments: [],
};

const all = <T extends ReturnType<typeof Type.Ref>>(item: T) =>
	Type.Object(
		{ data: Type.Array(item), nextCursor: Type.Null({ description: 'There is one page only.' }) },
		{ description: 'All of them, in order of time.' },
	);
const shared = { method: 'GET', tag: 'Messages' } as const;

/** `GET /v1/messages/{id}/attempts`, `/timeline` and `/content`. */
export function messageDetailOperations(db: Db): Operation[] {
	return [
		operation({
			...shared,
			path: '/v1/messages/{id}/attempts',
			operationId: 'listAttempts',
			access: 'messages:read',
			summary: 'Every try to deliver a message',
			answers: { 200: all(Type.Ref('Attempt')) },
			example: ATTEMPTS_EXAMPLE,
			handle: async (request) => ({ data: await readAttempts(db, callerOf(request), request.params.id), nextCursor: null }),
		}),
		operation({
			...shared,
			path: '/v1/messages/{id}/timeline',
			operationId: 'getTimeline',
			access: 'messages:read',
			summary: 'What happened to a message, in order of time',
			description: 'Of what people did the newest 1,000; `GET /v1/audit-events?subjectId=` lists all.',
			answers: { 200: all(Type.Ref('TimelineEntry')) },
			example: TIMELINE_EXAMPLE,
			handle: async (request) => {
				const caller = callerOf(request);
				const entries = await readTimeline(db, caller.tenant.id, request.params.id);
				if (entries === null) throw noSuchMessage();
				const mask = (await createRecordMasks(db, caller, [request.params.id]))(request.params.id);
				return { data: mask === null ? entries : entries.map((one) => ({ ...one, note: mask(one.note) })), nextCursor: null };
			},
		}),
		operation({
			...shared,
			path: '/v1/messages/{id}/content',
			operationId: 'getContent',
			access: 'content:read',
			summary: 'What is sent: addresses in full and bodies',
			answers: { 200: Type.Ref('MessageContent') },
			example: CONTENT_EXAMPLE,
			handle: async (request) => await readContent(db, callerOf(request).tenant.id, request.params.id),
		}),
	];
}

/** Every try of a message as the caller may see it, in order of time; throws 404 when the message is not the caller's. */
export async function readAttempts({ prisma }: Db, caller: Caller, id: string): Promise<object[]> {
	const tenantId = caller.tenant.id;
	const sees = caller.capabilities.has('content:read');
	const [record, attempts, recipients] = await Promise.all([
		prisma.sendRecord.findFirst({ where: { id, tenantId }, select: { id: true } }),
		prisma.deliveryAttempt.findMany({ where: { id, tenantId }, orderBy: [{ attemptNo: 'asc' }, { tryNo: 'asc' }] }),
		sees ? [] : prisma.sendRecipient.findMany({ where: { id, tenantId }, select: { address: true } }),
	]);
	if (record === null) throw noSuchMessage();
	const mask = createAnswerMask(recipients.map((one) => one.address));
	return attempts.map(({ startedAt, finishedAt, answer, ...same }) => ({
		...same,
		startedAt: startedAt.toISOString(),
		finishedAt: finishedAt.toISOString(),
		text: sees ? answer : mask(answer),
	}));
}

/** What is sent, in full; throws 404 when the message is not the tenant's. */
export async function readContent({ prisma }: Db, tenantId: string, id: string): Promise<object> {
	const where = { id, tenantId };
	const [payload, recipients, attachments] = await Promise.all([
		prisma.sendPayload.findFirst({ where }),
		prisma.sendRecipient.findMany({ where, orderBy: { n: 'asc' }, select: { role: true, address: true, name: true } }),
		prisma.attachment.findMany({
			where,
			orderBy: { n: 'asc' },
			select: { filename: true, contentType: true, contentId: true, bytes: true },
		}),
	]);
	if (payload === null) throw noSuchMessage();
	if (payload.keyId !== null) throw new Problem('internal-error', 'The content is sealed with a key that this release does not use.');
	return {
		subject: payload.subject,
		text: payload.bodyText,
		html: payload.bodyHtml,
		headers: payload.headers,
		from: { address: payload.fromAddress, name: payload.fromName },
		replyTo: payload.replyTo,
		recipients,
		attachments,
	};
}
