import { callerOf, type Operation, type OperationRequest, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { findServer } from '../servers/find-server.js';
import { OPEN_GATE } from '../servers/gate-shape.js';
import { moveServerGate } from '../servers/move-gate.js';
import { readServerState } from '../servers/read-server-state.js';
import { wakeOpened } from '../servers/wake-opened.js';
import { type ServersContext, shared, tierOf } from './mail-server-shape.js';
import { NoteBody, readNote } from './read-note.js';

const STATE_EXAMPLE = {
	gate: { ...OPEN_GATE, state: 'CLOSED', reason: 'AUTH', detail: '535 5.7.8 Authentication failed', probeAt: '2026-11-30T09:00:30.000Z' },
	windows: [{ window: 'minute', limit: 100, used: 40, left: 60, resetsAt: '2026-11-30T09:01:00.000Z' }],
	waiting: 1_204,
	lastError: {
		at: '2026-11-30T09:00:00.000Z',
		messageId: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
		category: 'AUTH',
		stage: 'AUTH',
		code: '535',
		enhancedCode: '5.7.8',
		text: 'Authentication failed',
	},
};

/** `GET /v1/mail-servers/{id}/state`, `POST /v1/mail-servers/{id}:pause` and `:resume`. */
export function gateOperations(context: ServersContext): Operation[] {
	const acts = {
		...shared,
		method: 'POST',
		body: NoteBody,
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('MailServerState') },
	} as const;
	return [
		operation({
			...shared,
			method: 'GET',
			path: '/v1/mail-servers/{id}/state',
			operationId: 'getMailServerState',
			summary: 'How a mail server stands',
			description:
				'Whether its gate lets messages through and why not, what is left of its limits, what waits for it, and what it said last.',
			answers: { 200: Type.Ref('MailServerState') },
			example: STATE_EXAMPLE,
			handle: async (request) => await stateOf(context, request),
		}),
		operation({
			...acts,
			path: '/v1/mail-servers/{id}:pause',
			operationId: 'pauseMailServer',
			summary: 'Send nothing through a mail server for a while',
			description:
				'Messages are still accepted for it and wait, until it is resumed or they are too late. What is being sent at this moment ends as it would. What is paused already stays so.',
			example: { note: 'moves to another data centre' },
			answerExamples: {
				200: { ...STATE_EXAMPLE, gate: { ...OPEN_GATE, state: 'CLOSED', reason: 'PAUSED', detail: 'moves to another data centre' } },
			},
			handle: async (request) => await move(context, request, 'pause'),
		}),
		operation({
			...acts,
			path: '/v1/mail-servers/{id}:resume',
			operationId: 'resumeMailServer',
			summary: 'Let a mail server go on',
			description:
				'Opens its gate, whatever closed it. Where the server failed, one message goes first, to see; when that fails for the server’s sake, the gate closes again. What is open already stays so.',
			example: { note: 'it is there again' },
			answerExamples: { 200: { ...STATE_EXAMPLE, gate: OPEN_GATE, waiting: 0 } },
			handle: async (request) => await move(context, request, 'resume'),
		}),
	];
}

async function move(context: ServersContext, request: OperationRequest, act: 'pause' | 'resume'): Promise<object> {
	const note = readNote(request);
	const caller = callerOf(request);
	const server = await findServer(context.db, caller, request.params.id);
	const moved = await moveServerGate(context.db, { actor: caller.actor, traceId: request.trace.traceId }, server, { act, note });
	if (moved && act === 'resume') await wakeOpened(context.db, server.id);
	return await stateOf(context, request);
}

async function stateOf({ db, windows }: ServersContext, request: OperationRequest): Promise<object> {
	const caller = callerOf(request);
	const server = await findServer(db, caller, request.params.id);
	return await readServerState(db, windows ?? null, { server, platform: tierOf(server, caller) === 'PLATFORM', caller });
}
