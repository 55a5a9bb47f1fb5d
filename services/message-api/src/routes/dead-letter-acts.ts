import { type Db, findLetter, type LetterRow, type ReplayedLetter } from '@tidings/db';
import { Problem, REPLAY_REFUSALS } from '@tidings/model';
import { callerOf, type Operation, type OperationRequest, operation } from '@tidings/runtime';
import type { Metrics } from '@tidings/telemetry';
import { Type } from 'typebox';
import { beginChecks, refuseFaulty, textOf } from '../checks/faults.js';
import { closeLetter } from '../close-letter.js';
import { replayLetter } from '../replay-letter.js';
import { LETTER_EXAMPLE, showLetter } from './letter-shape.js';
import { sendable } from './message-acts.js';
import { createRecordMasks } from './record-masks.js';
import { NOTE } from './shapes.js';

const Note = Type.Object({ note: NOTE }, { additionalProperties: false });

const shared = {
	method: 'POST',
	tag: 'Dead letters',
	access: 'dead-letters:triage',
	body: Note,
	bodyOptional: true,
	collectsFaults: true,
	answers: { 200: Type.Ref('DeadLetter') },
} as const;
const CLOSED = { ...LETTER_EXAMPLE, actor: 'key:4f2a9c0de1b37586', closedAt: '2026-11-30T10:00:00.000Z' };

type ActsContext = { readonly db: Db; readonly metrics: Pick<Metrics, 'deadLetterActionsTotal'> };

/** `POST /v1/dead-letters/{id}:resolve`, `:discard` and `:replay`. Each answers the letter as it is afterwards. */
export function deadLetterActOperations(context: ActsContext): Operation[] {
	return [closeOperation(context, RESOLVE), closeOperation(context, DISCARD), replayOperation(context)];
}

const RESOLVE = {
	act: 'resolve',
	operationId: 'resolveDeadLetter',
	summary: 'Close a dead letter as settled',
	description: 'PENDING → RESOLVED. Its message stays as it is.',
	note: 'told her by telephone',
	closed: { ...CLOSED, status: 'RESOLVED', resolution: 'resolved', note: 'told her by telephone' },
} as const;
const DISCARD = {
	act: 'discard',
	operationId: 'discardDeadLetter',
	summary: 'Close a dead letter as not worth keeping open',
	description: 'PENDING → DISCARDED. Its message stays as it is.',
	note: 'a test of ours',
	closed: { ...CLOSED, status: 'DISCARDED', resolution: 'discarded', note: 'a test of ours' },
} as const;

function closeOperation(
	{ db, metrics }: ActsContext,
	{ act, operationId, summary, description, note, closed }: typeof RESOLVE | typeof DISCARD,
): Operation {
	return operation({
		...shared,
		path: `/v1/dead-letters/{id}:${act}`,
		operationId,
		summary,
		description,
		errors: ['state-conflict'],
		example: { note },
		answerExamples: { 200: closed },
		handle: async (request) => {
			const { who, key } = readAct(request);
			const result = await closeLetter(db, who, { ...key, act });
			if (result.kind !== 'not-found')
				metrics.deadLetterActionsTotal.inc({ action: act, result: result.kind === 'done' ? 'done' : 'refused' });
			switch (result.kind) {
				case 'not-found':
					throw noSuchLetter();
				case 'conflict':
					throw closedAlready(result.letter);
				case 'done':
					return await show(db, request, result.letter);
			}
		},
	});
}

function replayOperation({ db, metrics }: ActsContext): Operation {
	const note = 'password mended';
	return operation({
		...shared,
		path: '/v1/dead-letters/{id}:replay',
		operationId: 'replayDeadLetter',
		summary: 'Send the message of a dead letter again',
		description:
			'PENDING → RESOLVED. A message that is DEAD_LETTER or EXPIRED gets one new try, as by `:retry`; one that is HELD is sent again, as by `:release` with `resend`; what the broker gave up on is published again while its message waits. Everything else is a conflict that says why.',
		errors: ['state-conflict', 'tenant-not-active'],
		example: { note },
		answerExamples: { 200: { ...CLOSED, status: 'RESOLVED', resolution: 'replayed', note } },
		handle: async (request) => {
			const { who, key } = readAct(sendable(request));
			const replayed = await replayLetter(db, who, key);
			const letter = await findLetter(db.pool, key.tenantId, key.id);
			if (replayed === null || letter === null) throw noSuchLetter();
			metrics.deadLetterActionsTotal.inc({ action: 'replay', result: replayed.refusal === null ? 'done' : 'refused' });
			if (replayed.refusal !== null) throw refusalOf(replayed, letter);
			return await show(db, request, letter);
		},
	});
}

/** Who acts on which letter, and why. Throws 422 with every fault. */
function readAct(request: OperationRequest) {
	const { raw, faults } = beginChecks(request);
	const note = textOf(raw, 'note', '', faults);
	refuseFaulty(faults);
	const caller = callerOf(request);
	return {
		who: { actor: caller.actor, traceId: request.trace.traceId },
		key: { tenantId: caller.tenant.id, id: request.params.id.toLowerCase(), note },
	};
}

async function show(db: Db, request: OperationRequest, letter: LetterRow): Promise<object> {
	const { envelope: _, ...listed } = { envelope: null, ...letter };
	return showLetter(listed, (await createRecordMasks(db, callerOf(request), [letter.recordId]))(letter.recordId));
}

function refusalOf({ refusal, messageStatus }: ReplayedLetter, letter: LetterRow): Problem {
	if (refusal === 'letter-closed') return closedAlready(letter);
	const detail = REPLAY_REFUSALS[refusal ?? 'message-state'];
	if (refusal === 'too-late') return new Problem('invalid-request', detail, { faults: [{ pointer: '', code: 'in-the-past', detail }] });
	return new Problem('state-conflict', messageStatus === null ? detail : `The message is ${messageStatus}. ${detail}`);
}

function closedAlready({ status, resolution }: LetterRow): Problem {
	return new Problem(
		'state-conflict',
		`The letter is ${status}${resolution === null ? '' : ` (${resolution})`}: only a PENDING one can be acted on.`,
	);
}

function noSuchLetter(): Problem {
	return new Problem('not-found', 'There is no such dead letter.');
}
