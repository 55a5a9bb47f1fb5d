import { type Db, findLetter, findMessage, type LetterFilter } from '@tidings/db';
import { CATEGORIES, CHANNELS, DEAD_LETTER_SOURCES, DEAD_LETTER_STATUSES, LIMITS, Problem } from '@tidings/model';
import { type Caller, callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { TEXT_FORM } from '../checks/text.js';
import { LETTER_EXAMPLE, LetterDetailsSchema, LetterSchema, showLetter } from './letter-shape.js';
import { readAttempts, readContent } from './message-details.js';
import { showMessage } from './message-shape.js';
import { refuseControls, timeField, timeIn } from './read-query.js';
import { createRecordMasks } from './record-masks.js';
import { searchLetters } from './search-letters.js';
import { PAGE_QUERY, pageSchema, readPage } from './shapes.js';

const Query = Type.Object(
	{
		...PAGE_QUERY,
		status: Type.Optional(Type.Enum([...DEAD_LETTER_STATUSES], { description: '`PENDING` waits for a person.' })),
		source: Type.Optional(Type.Enum([...DEAD_LETTER_SOURCES], { description: 'Why it is a dead letter.' })),
		channel: Type.Optional(Type.Enum([...CHANNELS], { description: 'What it was to be delivered by.' })),
		category: Type.Optional(Type.Enum([...CATEGORIES], { description: 'Kind of the last refusal.' })),
		type: Type.Optional(Type.String({ ...TEXT_FORM, maxLength: LIMITS.type, description: "The message's type, in full." })),
		createdAfter: timeField('Written then or later.'),
		createdBefore: timeField('Written before.'),
		text: Type.Optional(
			Type.String({
				...TEXT_FORM,
				minLength: 1,
				maxLength: 200,
				description: 'Stands somewhere in `error` or `type` as you see them, in upper or lower case; taken literally.',
			}),
		),
	},
	{ additionalProperties: false },
);

/** Attempts that are shown with a letter at most. */
const MOST_ATTEMPTS = 10;

const ANSWER = { code: '535', enhancedCode: '5.7.8', text: 'Authentication credentials invalid' };
const DETAILS_EXAMPLE = {
	...LETTER_EXAMPLE,
	envelope: null,
	record: {
		id: LETTER_EXAMPLE.recordId,
		status: 'DEAD_LETTER',
		subject: null,
		recipients: [{ role: 'to', address: 'a•••@example.com', outcome: 'OPEN', ...ANSWER }],
		attempts: 1,
		budgetUsed: 1,
		budgetMax: 5,
		partial: false,
		ambiguous: false,
		dueAt: null,
		createdAt: '2026-11-30T09:00:00.000Z',
		lastAttempts: [
			{
				attemptNo: 1,
				tryNo: 1,
				startedAt: '2026-11-30T09:00:00.050Z',
				finishedAt: '2026-11-30T09:00:00.120Z',
				provider: 'smtp',
				outcome: 'REFUSED',
				stage: 'AUTH',
				category: 'AUTH',
				...ANSWER,
				ambiguous: false,
				worker: 'mail-sender-1',
			},
		],
		content: null,
	},
};

const shared = { method: 'GET', tag: 'Dead letters', access: 'dead-letters:triage' } as const;

/** Schemas that these operations refer to. */
export const LETTER_ANSWERS = [LetterSchema, LetterDetailsSchema];

/** `GET /v1/dead-letters` and `GET /v1/dead-letters/{id}`. */
export function deadLetterOperations(db: Db): Operation[] {
	const list = operation({
		...shared,
		path: '/v1/dead-letters',
		operationId: 'listDeadLetters',
		summary: 'List dead letters, newest first',
		query: Query,
		answers: { 200: pageSchema(Type.Ref('DeadLetter')) },
		example: { data: [LETTER_EXAMPLE], nextCursor: null },
		handle: async (request) => {
			const caller = callerOf(request);
			const { limit, before } = readPage(request.query);
			const filter = { ...readFilter(request.query), ...(before === undefined ? {} : { before }) };
			return await searchLetters(db, caller, filter, limit);
		},
	});
	const one = operation({
		...shared,
		path: '/v1/dead-letters/{id}',
		operationId: 'getDeadLetter',
		summary: 'Look into a dead letter',
		description: 'With the message that it is about: where it stands, its recipients and its newest attempts.',
		answers: { 200: Type.Ref('DeadLetterDetails') },
		example: DETAILS_EXAMPLE,
		handle: async (request) => {
			const caller = callerOf(request);
			const row = await findLetter(db.pool, caller.tenant.id, request.params.id);
			if (row === null) throw new Problem('not-found', 'There is no such dead letter.');
			const { envelope, ...letter } = row;
			const mask = (await createRecordMasks(db, caller, [row.recordId]))(row.recordId);
			return {
				...showLetter(letter, mask),
				envelope: mask === null ? envelope : mask(envelope),
				record: letter.recordId === null ? null : await readRecord(db, caller, letter.recordId),
			};
		},
	});
	return [list, one];
}

/** The message of a letter, its newest attempts, and for those who may see it what is sent. Null when it is not kept any more. */
async function readRecord(db: Db, caller: Caller, recordId: string): Promise<object | null> {
	const row = await findMessage(db.pool, caller.tenant.id, recordId);
	if (row === null) return null;
	const sees = caller.capabilities.has('content:read');
	const [attempts, content] = await Promise.all([
		readAttempts(db, caller, recordId),
		sees ? readContent(db, caller.tenant.id, recordId) : null,
	]);
	return { ...showMessage(row, caller), lastAttempts: attempts.reverse().slice(0, MOST_ATTEMPTS), content };
}

function readFilter(query: Readonly<Record<string, string>>): LetterFilter {
	refuseControls(query);
	const { status, source, channel, category, type, text, createdAfter, createdBefore } = query;
	return {
		...(status === undefined ? {} : { status }),
		...(source === undefined ? {} : { source }),
		...(channel === undefined ? {} : { channel }),
		...(category === undefined ? {} : { category }),
		...(type === undefined ? {} : { type }),
		...(text === undefined ? {} : { text }),
		...(createdAfter === undefined ? {} : { createdAfter: timeIn('createdAfter', createdAfter) }),
		...(createdBefore === undefined ? {} : { createdBefore: timeIn('createdBefore', createdBefore) }),
	};
}
