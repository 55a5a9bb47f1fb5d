import { type AuditFilter, type AuditRow, type Db, listAuditEvents } from '@tidings/db';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { maskValues } from '../checks/mask-values.js';
import { TEXT_FORM } from '../checks/text.js';
import { refuseControls, timeField, timeIn } from './read-query.js';
import { createRecordMasks, type TextMask } from './record-masks.js';
import { nullable, PAGE_QUERY, pageOf, pageSchema, readPage, timeText } from './shapes.js';

const AuditEvent = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		at: timeText('When it was done.'),
		actor: Type.String({
			description:
				'Who did it: `key:` and the id of an API key, or `user:` and the subject of a token (`platform:user:` for the operator’s).',
		}),
		action: Type.String({ description: 'What was done, such as `message.cancel`.' }),
		subjectType: Type.String({ description: 'What kind of thing it was done to, such as `message`.' }),
		subjectId: Type.String({ format: 'uuid', description: 'Which one.' }),
		detail: Type.Unsafe<Record<string, unknown>>({
			type: 'object',
			additionalProperties: true,
			description: 'More about it, by the kind of act; no secret, and no address without the capability `content:read`.',
		}),
		traceId: nullable(Type.String({ description: 'The trace of the request that did it.' })),
	},
	{ $id: 'AuditEvent', description: 'Something that somebody did.' },
);

/** Schemas that these operations refer to. */
export const AUDIT_ANSWERS = [AuditEvent];

const Query = Type.Object(
	{
		...PAGE_QUERY,
		action: Type.Optional(
			Type.String({
				...TEXT_FORM,
				minLength: 1,
				maxLength: 100,
				description: 'What was done, such as `message.cancel`; with a dot at its end, such as `message.`: every act that begins so.',
			}),
		),
		actor: Type.Optional(Type.String({ ...TEXT_FORM, minLength: 1, maxLength: 300, description: 'Who did it, as `actor` says it.' })),
		subjectType: Type.Optional(
			Type.String({ ...TEXT_FORM, minLength: 1, maxLength: 100, description: 'What kind of thing it was done to.' }),
		),
		subjectId: Type.Optional(Type.String({ format: 'uuid', description: 'Which thing it was done to.' })),
		createdAfter: timeField('Done then or later.'),
		createdBefore: timeField('Done before.'),
	},
	{ additionalProperties: false },
);

const EXAMPLE = {
	id: '01930b66-3c40-7d2a-b1f7-2a9c6f0e8d51',
	at: '2026-11-30T09:05:00.000Z',
	actor: 'key:9f2c4b7a1d3e5f60',
	action: 'message.cancel',
	subjectType: 'message',
	subjectId: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	detail: { from: 'PENDING', to: 'CANCELLED', note: 'ordered twice' },
	traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
};

/** `GET /v1/audit-events`. */
export function auditOperations(db: Db): Operation[] {
	const list = operation({
		method: 'GET',
		path: '/v1/audit-events',
		operationId: 'listAuditEvents',
		tag: 'Audit',
		access: 'tenant:admin',
		summary: 'Who changed what, newest first',
		description: 'Every change of a thing and every act on a message, written together with the change. They are never changed themselves.',
		query: Query,
		answers: { 200: pageSchema(Type.Ref('AuditEvent')) },
		example: { data: [EXAMPLE], nextCursor: null },
		handle: async (request) => {
			const caller = callerOf(request);
			const { limit, before } = readPage(request.query);
			const filter = { ...readFilter(request.query), ...(before === undefined ? {} : { before }) };
			const page = pageOf(await listAuditEvents(db.pool, caller.tenant.id, filter, limit + 1), limit);
			const maskOf = await createRecordMasks(db, caller, page.rows.map(messageOf));
			return { data: page.rows.map((row) => showEvent(row, maskOf(messageOf(row)))), nextCursor: page.nextCursor };
		},
	});
	return [list];
}

/** The message that an event is about, when it is about one: acts on dead letters name it. */
function messageOf({ subjectId, detail }: AuditRow): string {
	const named = detail['messageId'];
	return typeof named === 'string' ? named : subjectId;
}

/** Shows an event. Who acted may have noted whom it was about; all else is ours, and holds an address at most as such. */
function showEvent(row: AuditRow, mask: TextMask): Static<typeof AuditEvent> {
	const at = row.at.toISOString();
	if (mask === null) return { ...row, at };
	const { note, ...detail } = row.detail;
	return {
		...row,
		at,
		detail: { ...maskValues(detail), ...(typeof note === 'string' ? { note: mask(note) } : note === undefined ? {} : { note }) },
	};
}

function readFilter(query: Readonly<Record<string, string>>): AuditFilter {
	refuseControls(query);
	const { action, actor, subjectType, subjectId, createdAfter, createdBefore } = query;
	return {
		...(action === undefined ? {} : { action }),
		...(actor === undefined ? {} : { actor }),
		...(subjectType === undefined ? {} : { subjectType }),
		...(subjectId === undefined ? {} : { subjectId }),
		...(createdAfter === undefined ? {} : { createdAfter: timeIn('createdAfter', createdAfter) }),
		...(createdBefore === undefined ? {} : { createdBefore: timeIn('createdBefore', createdBefore) }),
	};
}
