import type { Db } from '@tidings/db';
import { Problem } from '@tidings/model';
import { callerOf, type Operation, type OperationRequest, operation, refusalOfTenant } from '@tidings/runtime';
import { type TObject, Type } from 'typebox';
import type { ActContext, ActResult } from '../act-on-message.js';
import { cancelMessage } from '../cancel-message.js';
import { faultOfText } from '../checks/text.js';
import { releaseMessage } from '../release-message.js';
import { retryMessage } from '../retry-message.js';
import { MessageSchema, showMessage } from './message-shape.js';
import { MESSAGE_EXAMPLE, noSuchMessage, requireMessage } from './messages.js';
import { NOTE } from './shapes.js';

const Note = Type.Object({ note: NOTE }, { additionalProperties: false });
const Release = Type.Object(
	{
		resolution: Type.Enum(['resend', 'delivered', 'failed'], {
			description: '`resend`: send it again. `delivered`: it did arrive. `failed`: it did not, and shall not.',
		}),
		note: NOTE,
	},
	{ additionalProperties: false },
);

const Cancelled = Type.Object(
	{
		...(MessageSchema as TObject).properties,
		mayHaveBeenSent: Type.Boolean({ description: 'An earlier attempt ended so that nobody knows whether it was sent.' }),
	},
	{ $id: 'CancelledMessage', description: 'The message, cancelled.' },
);

/** Schemas that these operations refer to. */
export const ACT_ANSWERS = [Cancelled];

const ENDED = {
	...MESSAGE_EXAMPLE,
	sentAt: null,
	recipients: MESSAGE_EXAMPLE.recipients.map((one) => ({ ...one, outcome: 'OPEN', code: null, enhancedCode: null, text: null })),
};
const CANCELLED_EXAMPLE = { ...ENDED, status: 'CANCELLED', reason: 'cancelled', attempts: 0, mayHaveBeenSent: false };
const RETRY_EXAMPLE = { ...ENDED, status: 'RETRY', dueAt: '2026-11-30T10:00:00.000Z', finishedAt: null };
const shared = { method: 'POST', tag: 'Messages', access: 'messages:act', errors: ['state-conflict'] } as const;

/** Runs an act on the message that a request names, and shows the message as it is afterwards. */
type Act = (request: OperationRequest, run: (context: ActContext, tenantId: string, id: string) => Promise<ActResult>) => Promise<object>;

function createAct(db: Db): Act {
	return async (request, run) => {
		const caller = callerOf(request);
		const tenantId = caller.tenant.id;
		const id = request.params.id.toLowerCase();
		const result = await run({ db, actor: caller.actor, traceId: request.trace.traceId }, tenantId, id);
		switch (result.kind) {
			case 'not-found':
				throw noSuchMessage();
			case 'conflict':
				throw new Problem(
					'state-conflict',
					`The message is ${result.status}: this act has no meaning there, or another was quicker.${result.status === 'HELD' ? ' What is HELD waits for `:release`.' : ''}`,
				);
			case 'refused':
				throw new Problem('invalid-request', result.detail, { faults: [{ pointer: '', code: 'in-the-past', detail: result.detail }] });
			case 'done': {
				const message = showMessage(await requireMessage(db.pool, tenantId, id), caller);
				return result.mayHaveBeenSent === undefined ? message : { ...message, mayHaveBeenSent: result.mayHaveBeenSent };
			}
		}
	};
}

/** The same request; throws 403 for a tenant that is being deleted, which sends nothing anew. */
export function sendable<T extends OperationRequest>(request: T): T {
	const { tenant } = callerOf(request);
	const refusal = tenant.status === 'DELETING' ? refusalOfTenant(tenant) : null;
	if (refusal !== null) throw refusal;
	return request;
}

/** `POST /v1/messages/{id}:cancel`, `:retry` and `:release`. Each answers the message as it is afterwards. */
export function messageActOperations(db: Db): Operation[] {
	const act = createAct(db);
	return [
		operation({
			...shared,
			path: '/v1/messages/{id}:cancel',
			operationId: 'cancelMessage',
			summary: 'Cancel a message that waits',
			description: 'Only PENDING and RETRY can be cancelled. The answer is "cancelled" only when no sender was quicker.',
			body: Note,
			bodyOptional: true,
			answers: { 200: Type.Ref('CancelledMessage') },
			example: { note: 'ordered twice' },
			answerExamples: { 200: CANCELLED_EXAMPLE },
			handle: async (request) => await act(request, (context, tenantId, id) => cancelMessage(context, tenantId, id, noteOf(request.body))),
		}),
		operation({
			...shared,
			path: '/v1/messages/{id}:retry',
			operationId: 'retryMessage',
			errors: ['state-conflict', 'tenant-not-active'],
			summary: 'Send a message once more',
			description: 'PENDING and RETRY become due now. FAILED, DEAD_LETTER, EXPIRED, and CANCELLED before any attempt, get one new try.',
			body: Note,
			bodyOptional: true,
			answers: { 200: Type.Ref('Message') },
			example: { note: 'password mended' },
			answerExamples: { 200: RETRY_EXAMPLE },
			handle: async (request) =>
				await act(sendable(request), (context, tenantId, id) => retryMessage(context, tenantId, id, noteOf(request.body))),
		}),
		operation({
			...shared,
			path: '/v1/messages/{id}:release',
			operationId: 'releaseMessage',
			errors: ['state-conflict', 'tenant-not-active'],
			summary: 'Decide about a message that is HELD',
			body: Release,
			answers: { 200: Type.Ref('Message') },
			example: { resolution: 'resend', note: 'the provider says that it never came' },
			answerExamples: { 200: RETRY_EXAMPLE },
			handle: async (request) =>
				await act(request.body.resolution === 'resend' ? sendable(request) : request, (context, tenantId, id) =>
					releaseMessage(context, tenantId, id, { resolution: request.body.resolution, ...noteOf(request.body) }),
				),
		}),
	];
}

function noteOf(body: { note?: string } | null | undefined): { note?: string } {
	const text = body?.note;
	if (text === undefined) return {};
	const fault = faultOfText(text);
	if (fault !== null)
		throw new Problem('invalid-request', 'The note is refused.', {
			faults: [{ pointer: '/note', code: 'control-character', detail: fault }],
		});
	return { note: text };
}
