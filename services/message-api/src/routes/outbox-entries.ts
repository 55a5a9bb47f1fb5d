import { type Db, type EntryFilter, type EntryRow, listEntries } from '@tidings/db';
import { LANES, OUTBOX_STATUSES, type OutboxStatus, Problem } from '@tidings/model';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { beginChecks, refuseFaulty, textOf } from '../checks/faults.js';
import { TEXT_FORM } from '../checks/text.js';
import { requeueEntry } from '../requeue-entry.js';
import { refuseControls } from './read-query.js';
import { NOTE, nullable, PAGE_QUERY, pageOf, pageSchema, readPage, timeText } from './shapes.js';

const Entry = Type.Object(
	{
		id: Type.String({ format: 'uuid', description: 'That of the message that it is about.' }),
		status: Type.Enum([...OUTBOX_STATUSES], {
			description:
				'`NEW` waits, `PUBLISHING` is in the hands of a publisher, `PUBLISHED` lies in its topic until a sender takes it, `DEAD` was refused by the broker ten times.',
		}),
		route: Type.String({ description: 'What kind of work it is, such as `mail-send`.' }),
		priority: Type.Enum([...LANES]),
		dueAt: timeText('When it is to be published.'),
		publishedAt: nullable(timeText('When the broker confirmed it.')),
		refusals: Type.Integer({ minimum: 0, description: 'Times the broker refused it while it confirmed others.' }),
		heals: Type.Integer({ minimum: 0, description: 'Times it was published again because no sender had taken it.' }),
		nacks: Type.Integer({ minimum: 0, description: 'Times that handling it failed in a way that nobody understands.' }),
		traceId: Type.String({ description: 'The trace of the message.' }),
		createdAt: timeText('When it was written.'),
	},
	{ $id: 'OutboxEntry', description: 'A message that waits for its sender.' },
);

/** Schemas that these operations refer to. */
export const OUTBOX_ANSWERS = [Entry];

const Query = Type.Object(
	{
		...PAGE_QUERY,
		status: Type.Optional(Type.Enum([...OUTBOX_STATUSES], { description: 'Where it stands.' })),
		route: Type.Optional(Type.String({ ...TEXT_FORM, minLength: 1, maxLength: 100, description: 'A kind of work, such as `mail-send`.' })),
	},
	{ additionalProperties: false },
);
const Note = Type.Object({ note: NOTE }, { additionalProperties: false });

const EXAMPLE = {
	id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	status: 'DEAD',
	route: 'mail-send',
	priority: 'normal',
	dueAt: '2026-11-30T09:17:04.000Z',
	publishedAt: null,
	refusals: 10,
	heals: 0,
	nacks: 0,
	traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
	createdAt: '2026-11-30T09:00:00.000Z',
};
const shared = { tag: 'Outbox', access: 'outbox:requeue' } as const;

/** `GET /v1/outbox-entries` and `POST /v1/outbox-entries/{id}:requeue`. */
export function outboxOperations(db: Db): Operation[] {
	return [listOperation(db), requeueOperation(db)];
}

function listOperation({ pool }: Db): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/outbox-entries',
		operationId: 'listOutboxEntries',
		summary: 'What waits for its sender, newest first',
		description: 'An entry goes when a sender takes the message; a message that ended, or is being sent, has none.',
		query: Query,
		answers: { 200: pageSchema(Type.Ref('OutboxEntry')) },
		example: { data: [EXAMPLE], nextCursor: null },
		handle: async (request) => {
			refuseControls(request.query);
			const { status, route } = request.query;
			const { limit, before } = readPage(request.query);
			const filter: EntryFilter = {
				...(status === undefined ? {} : { status: status as OutboxStatus }),
				...(route === undefined ? {} : { route }),
				...(before === undefined ? {} : { before }),
			};
			const page = pageOf(await listEntries(pool, callerOf(request).tenant.id, filter, limit + 1), limit);
			return { data: page.rows.map(showEntry), nextCursor: page.nextCursor };
		},
	});
}

function requeueOperation(db: Db): Operation {
	return operation({
		...shared,
		method: 'POST',
		path: '/v1/outbox-entries/{id}:requeue',
		operationId: 'requeueOutboxEntry',
		summary: 'Publish a dead entry again',
		description:
			'Only DEAD entries, when what made the broker refuse them is mended. It becomes NEW and due now, its refusals are forgotten.',
		body: Note,
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('OutboxEntry') },
		errors: ['state-conflict'],
		example: { note: 'the topic is there again' },
		answerExamples: { 200: { ...EXAMPLE, status: 'NEW', dueAt: '2026-11-30T10:00:00.000Z', refusals: 0 } },
		handle: async (request) => {
			const { raw, faults } = beginChecks(request);
			const note = textOf(raw, 'note', '', faults);
			refuseFaulty(faults);
			const caller = callerOf(request);
			const context = { db, actor: caller.actor, traceId: request.trace.traceId };
			const id = request.params.id.toLowerCase();
			const result = await requeueEntry(context, caller.tenant.id, id, note === null ? {} : { note });
			switch (result.kind) {
				case 'not-found':
					throw new Problem('not-found', 'There is no such outbox entry. A message that was taken by a sender has none.');
				case 'conflict':
					throw new Problem('state-conflict', `The entry is ${result.status}: only a DEAD one can be requeued.`);
				case 'done':
					return showEntry(result.entry);
			}
		},
	});
}

function showEntry({ lane, dueAt, publishedAt, createdAt, ...same }: EntryRow): Static<typeof Entry> {
	return {
		...same,
		priority: lane,
		dueAt: dueAt.toISOString(),
		publishedAt: publishedAt?.toISOString() ?? null,
		createdAt: createdAt.toISOString(),
	};
}
