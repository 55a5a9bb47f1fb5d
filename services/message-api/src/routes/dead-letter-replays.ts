import { type Db, findReplay, judgeLetters, listReplays, type ReplayFilter, type ReplayRow } from '@tidings/db';
import { Problem, REPLAY_REFUSALS, REPLAY_STATUSES } from '@tidings/model';
import { callerOf, type Operation, type OperationRequest, operation, refusalOfTenant } from '@tidings/runtime';
import { Type } from 'typebox';
import { beginChecks, refuseFaulty, textOf } from '../checks/faults.js';
import { MOST_RUNNING, startReplay } from '../start-replay.js';
import { stopReplay } from '../stop-replay.js';
import { readReplay } from './read-replay.js';
import { createRecordMasks } from './record-masks.js';
import { showPreview, showReplay } from './replay-shape.js';
import { NOTE, PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

const SAMPLE = [{ letterId: '01930b62-1f0e-7b1c-8a54-90d3c1f2ab10', reason: 'message-state', detail: REPLAY_REFUSALS['message-state'] }];
const EXAMPLE = {
	id: '01930b70-2c1d-7f3a-9e57-4b8a6d0c1f22',
	state: 'RUNNING',
	filter: { category: 'AUTH' },
	ratePerSecond: 200,
	matched: 10_000,
	replayed: 0,
	refused: 0,
	failed: 0,
	refusals: [],
	sample: [],
	note: 'password mended',
	actor: 'key:4f2a9c0de1b37586',
	error: null,
	createdAt: '2026-11-30T10:00:00.000Z',
	finishedAt: null,
};
const DONE = { replayed: 9_999, refused: 1, refusals: [{ reason: 'message-state', count: 1 }], sample: SAMPLE };

const shared = { tag: 'Dead letters', access: 'dead-letters:triage' } as const;

/** `POST /v1/dead-letter-replays`, `GET` of all and of one, and `POST …/{id}:stop`. */
export function replayOperations(db: Db): Operation[] {
	return [startOperation(db), listOperation(db), oneOperation(db), stopOperation(db)];
}

function startOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/dead-letter-replays',
		operationId: 'startDeadLetterReplay',
		summary: 'Replay many dead letters',
		description: `Each letter as by \`:replay\`, the oldest first, at the rate that is asked for, in the background. Which letters it is about is fixed when it begins. At most ${MOST_RUNNING} of a tenant run at once; one that has ended can be looked at for 30 days. With \`dryRun\` it says what would happen, and does nothing.`,
		body: Type.Ref('NewDeadLetterReplay'),
		collectsFaults: true,
		answers: { 200: Type.Ref('DeadLetterReplayPreview'), 202: Type.Ref('DeadLetterReplay') },
		headers: { Location: 'Where it says how far it is: `/v1/dead-letter-replays/{id}`. Not of a dry run.' },
		errors: ['state-conflict', 'tenant-not-active'],
		example: { filter: { category: 'AUTH' }, ratePerSecond: 200, note: 'password mended' },
		answerExamples: {
			200: { matched: 10_000, replayable: 9_999, ambiguous: 12, refusals: DONE.refusals, sample: SAMPLE },
			202: EXAMPLE,
		},
		handle: async (request, reply) => {
			const caller = callerOf(request);
			const { selection, dryRun, ...wish } = readReplay(request, caller);
			const tenantId = caller.tenant.id;
			if (dryRun) return showPreview(await judgeLetters(db.pool, tenantId, selection));
			// What is being deleted sends nothing anew; a suspended tenant's messages wait.
			const refusal = caller.tenant.status === 'DELETING' ? refusalOfTenant(caller.tenant) : null;
			if (refusal !== null) throw refusal;
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const replay = await startReplay(db, who, { tenantId, selection, ...wish });
			reply.code(202).header('location', `/v1/dead-letter-replays/${replay.id}`);
			return await show(db, request, replay);
		},
	});
}

function listOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/dead-letter-replays',
		operationId: 'listDeadLetterReplays',
		summary: 'List replays of dead letters, newest first',
		query: Type.Object(
			{ ...PAGE_QUERY, state: Type.Optional(Type.Enum([...REPLAY_STATUSES], { description: 'Where it stands.' })) },
			{ additionalProperties: false },
		),
		answers: { 200: pageSchema(Type.Ref('DeadLetterReplay')) },
		example: { data: [{ ...EXAMPLE, ...DONE, state: 'DONE', finishedAt: '2026-11-30T10:00:50.000Z' }], nextCursor: null },
		handle: async (request) => {
			const { limit, before } = readPage(request.query);
			const { state } = request.query;
			const filter: ReplayFilter = { ...(state === undefined ? {} : { status: state }), ...(before === undefined ? {} : { before }) };
			const page = pageOf(await listReplays(db.pool, callerOf(request).tenant.id, filter, limit + 1), limit);
			return { data: await Promise.all(page.rows.map((row) => show(db, request, row))), nextCursor: page.nextCursor };
		},
	});
}

function oneOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/dead-letter-replays/{id}',
		operationId: 'getDeadLetterReplay',
		summary: 'How far a replay of dead letters is',
		answers: { 200: Type.Ref('DeadLetterReplay') },
		example: { ...EXAMPLE, replayed: 4_200 },
		handle: async (request) => {
			const replay = await findReplay(db.pool, callerOf(request).tenant.id, request.params.id);
			if (replay === null) throw noSuchReplay();
			return await show(db, request, replay);
		},
	});
}

function stopOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/dead-letter-replays/{id}:stop',
		operationId: 'stopDeadLetterReplay',
		summary: 'Stop a replay of dead letters',
		description:
			'RUNNING → STOPPED: when this is answered, no further letter is replayed. What was replayed stays so; to go on, start another one.',
		body: Type.Object({ note: NOTE }, { additionalProperties: false }),
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('DeadLetterReplay') },
		errors: ['state-conflict'],
		example: { note: 'the provider complains' },
		answerExamples: { 200: { ...EXAMPLE, state: 'STOPPED', replayed: 4_200, finishedAt: '2026-11-30T10:00:21.000Z' } },
		handle: async (request) => {
			const { raw, faults } = beginChecks(request);
			const note = textOf(raw, 'note', '', faults);
			refuseFaulty(faults);
			const caller = callerOf(request);
			const who = { actor: caller.actor, traceId: request.trace.traceId };
			const result = await stopReplay(db, who, { tenantId: caller.tenant.id, id: request.params.id.toLowerCase(), note });
			switch (result.kind) {
				case 'not-found':
					throw noSuchReplay();
				case 'conflict':
					throw new Problem('state-conflict', `The replay is ${result.replay.status}: only a RUNNING one can be stopped.`);
				case 'done':
					return await show(db, request, result.replay);
			}
		},
	});
}

async function show(db: Db, request: OperationRequest, replay: ReplayRow): Promise<object> {
	return showReplay(replay, (await createRecordMasks(db, callerOf(request), []))(null));
}

function noSuchReplay(): Problem {
	return new Problem('not-found', 'There is no such replay.');
}
