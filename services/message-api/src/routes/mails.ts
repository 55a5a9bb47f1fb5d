import { type AcceptResult, type Db, findMessage } from '@tidings/db';
import { LIMITS, SEND_STATUSES } from '@tidings/model';
import { callerOf, faultsGiven, type Operation, type OperationRequest, operation } from '@tidings/runtime';
import type { Metrics } from '@tidings/telemetry';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { acceptMails, checkMails, type MailContext, type MailSubmission, type ReadyMail } from '../accept-mails.js';
import { listOf, rawOf } from '../checks/faults.js';
import { answerOf, readIdempotencyKey } from '../submission.js';
import { nullable, timeText } from './shapes.js';

const Query = Type.Object(
	{
		validateOnly: Type.Optional(
			Type.Enum(['true', 'false'], {
				description: '`true`: every check is run but for the quota, nothing is written, and the answer is 200 with a preview.',
			}),
		),
	},
	{ additionalProperties: false },
);

const Preview = Type.Object(
	{
		subject: Type.String({ description: 'As it would be sent.' }),
		text: nullable(Type.String({ description: 'The body as plain text, as it would be sent.' })),
		html: nullable(Type.String({ description: 'The body as HTML, as it would be sent.' })),
		recipients: Type.Array(
			Type.Object({
				role: Type.Enum(['to', 'cc', 'bcc']),
				address: Type.String({ description: 'As it would be stored.' }),
				name: nullable(Type.String()),
			}),
			{ description: 'Who it would go to.' },
		),
		serverId: Type.String({ format: 'uuid', description: 'The mail server it would go through.' }),
		cost: Type.Integer({
			description: 'What it would cost of the monthly quota: its recipients. `GET /v1/quota-usage` shows what is left.',
		}),
	},
	{ $id: 'MailPreview', description: 'What a mail would be.' },
);

const AcceptedMail = Type.Object(
	{
		id: Type.String({
			format: 'uuid',
			description: 'The message: `GET /v1/messages/{id}`. With `deduplicated`, the one that was there already.',
		}),
		status: Type.Enum([...SEND_STATUSES], { description: '`PENDING`; with `deduplicated`, the state of the message now.' }),
		createdAt: timeText('When the message was accepted; with `deduplicated`, when it was accepted first.'),
		deduplicated: Type.Optional(Type.Boolean({ description: 'There only when `true`: the `dedupeKey` was known, nothing was written.' })),
	},
	{ $id: 'AcceptedMail', description: 'Accepted: committed, to be sent.' },
);

const AcceptedBatch = Type.Object(
	{
		ids: Type.Array(Type.String({ format: 'uuid' }), { description: 'In the order of the items.' }),
		deduplicated: Type.Optional(
			Type.Array(Type.Integer(), { description: 'There only when some were: the positions whose `dedupeKey` was known.' }),
		),
	},
	{ $id: 'AcceptedBatch', description: 'Accepted: committed, to be sent.' },
);

const VALID = Type.Boolean({ const: true, description: 'Always `true`: what would not be accepted is refused with its faults.' });

/** Schemas that these operations refer to. */
export const MAIL_ANSWERS = [Preview, AcceptedMail, AcceptedBatch];

const EXAMPLE = {
	to: ['ann@example.com'],
	subject: 'Your order A-17',
	text: 'It is on its way.',
	type: 'order.confirmed',
	metadata: { orderNo: 'A-17' },
};
const ACCEPTED_EXAMPLE = { id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11', status: 'PENDING', createdAt: '2026-11-30T09:00:00.000Z' };
const PREVIEW_EXAMPLE = {
	subject: EXAMPLE.subject,
	text: EXAMPLE.text,
	html: null,
	recipients: [{ role: 'to', address: 'ann@example.com', name: null }],
	serverId: '01930b5e-6c11-7a10-8f2e-5d0c4e1a9b37',
	cost: 1,
};
const shared = {
	method: 'POST',
	tag: 'Mails',
	access: 'messages:send',
	query: Query,
	collectsFaults: true,
	submits: true,
} as const;

/** Runs the checks of submitted mails, and accepts them unless it is a trial; then the mails are returned that would be accepted. */
type Submit = (
	request: OperationRequest,
	reply: FastifyReply,
	kind: 'one' | 'batch',
	mails: MailSubmission['mails'],
) => Promise<AcceptResult | readonly ReadyMail[]>;

/** `POST /v1/mails` and `POST /v1/mails:batch`. */
export function mailOperations(context: MailContext, metrics: Metrics): Operation[] {
	const submit: Submit = async (request, reply, kind, mails) => {
		const caller = callerOf(request);
		const faults = faultsGiven(request);
		const isTrial = (request.query as { validateOnly?: string }).validateOnly === 'true';
		const idempotency = readIdempotencyKey(request, caller.tenant.id, kind === 'one' ? 'POST /v1/mails' : 'POST /v1/mails:batch');
		const submission = { caller, trace: request.trace, mails, faults, idempotency };
		if (isTrial) {
			const checked = await checkMails(context, submission);
			if ('refusal' in checked) throw checked.refusal;
			return checked.mails;
		}
		const result = await acceptMails(context, submission);
		if (result.kind === 'accepted') metrics.acceptDurationSeconds.observe({ kind }, reply.elapsedTime / 1000);
		if (result.kind === 'replayed') {
			metrics.idempotentReplaysTotal.inc();
			reply.header('idempotent-replayed', 'true');
		}
		return result;
	};
	return [oneOperation(submit, context.db), batchOperation(submit)];
}

function oneOperation(submit: Submit, { pool }: Db): Operation {
	return operation({
		...shared,
		path: '/v1/mails',
		operationId: 'sendMail',
		summary: 'Send a mail',
		description:
			'Answered when the mail is committed; it is delivered afterwards, also over restarts. `Location` names the message. When the `dedupeKey` and the `to` are those of a message that is there already, that message is answered as it stands now.',
		headers: { Location: 'The message: `/v1/messages/{id}`.' },
		body: Type.Ref('Mail'),
		answers: {
			200: Type.Object({ valid: VALID, preview: Type.Ref('MailPreview') }, { description: 'With `validateOnly`: it would be accepted.' }),
			202: Type.Ref('AcceptedMail'),
		},
		example: EXAMPLE,
		answerExamples: { 200: { valid: true, preview: PREVIEW_EXAMPLE }, 202: ACCEPTED_EXAMPLE },
		handle: async (request, reply) => {
			const result = await submit(request, reply, 'one', [{ at: '', body: request.body }]);
			if (!('kind' in result)) return { valid: true, preview: result.map(previewOf)[0] };
			const { accepted } = answerOf(result);
			const [id = ''] = accepted.ids;
			request.span?.set({ 'tidings.record.id': id });
			reply.code(202).header('location', `/v1/messages/${id}`);
			const answer = { id, status: 'PENDING', createdAt: accepted.createdAt };
			if (accepted.deduplicated.length === 0) return answer;
			const known = await findMessage(pool, callerOf(request).tenant.id, id);
			return {
				...answer,
				...(known === null ? {} : { status: known.status, createdAt: known.createdAt.toISOString() }),
				deduplicated: true,
			};
		},
	});
}

function batchOperation(submit: Submit): Operation {
	return operation({
		...shared,
		path: '/v1/mails:batch',
		operationId: 'sendMails',
		summary: 'Send up to 500 mails, all or none',
		description:
			'One fault in one item refuses the whole batch, and so does one that is over the monthly quota; its pointer begins with `/items/{n}`.',
		body: Type.Ref('MailBatch'),
		answers: {
			200: Type.Object(
				{ valid: VALID, previews: Type.Array(Type.Ref('MailPreview')) },
				{ description: 'With `validateOnly`: they would be accepted.' },
			),
			202: Type.Ref('AcceptedBatch'),
		},
		example: { items: [EXAMPLE] },
		answerExamples: { 200: { valid: true, previews: [PREVIEW_EXAMPLE] }, 202: { ids: [ACCEPTED_EXAMPLE.id] } },
		handle: async (request, reply) => {
			const mails = listOf(rawOf(request.body)?.['items'], LIMITS.batchItems).map((body, index) => ({ at: `/items/${index}`, body }));
			const result = await submit(request, reply, 'batch', mails);
			if (!('kind' in result)) return { valid: true, previews: result.map(previewOf) };
			const { accepted } = answerOf(result, 'batch');
			request.span?.set({ 'tidings.record.count': accepted.ids.length });
			reply.code(202);
			return { ids: accepted.ids, ...(accepted.deduplicated.length > 0 ? { deduplicated: accepted.deduplicated } : {}) };
		},
	});
}

function previewOf({ draft, server }: ReadyMail): object {
	const recipients = draft.recipients.map(({ role, address, name }) => ({ role, address, name }));
	return { subject: draft.subject, text: draft.text, html: draft.html, recipients, serverId: server.id, cost: recipients.length };
}
