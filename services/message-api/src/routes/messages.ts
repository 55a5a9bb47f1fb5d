import { type Db, findMessage, listMessages, type MessageFilter, type MessageRow } from '@tidings/db';
import { CHANNELS, isUuid, LIMITS, Problem, SEND_STATUSES } from '@tidings/model';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { hashOfAddress, readAddress } from '../checks/address.js';
import { TEXT_FORM } from '../checks/text.js';
import { MessageSchema, showMessage } from './message-shape.js';
import { refuseControls, timeField, timeIn } from './read-query.js';
import { PAGE_QUERY, pageOf, pageSchema, readPage } from './shapes.js';

const Query = Type.Object(
	{
		...PAGE_QUERY,
		channel: Type.Optional(Type.Enum([...CHANNELS], { description: 'What it is delivered by.' })),
		status: Type.Optional(Type.Enum([...SEND_STATUSES], { description: 'Where it stands.' })),
		type: Type.Optional(Type.String({ ...TEXT_FORM, maxLength: LIMITS.type, description: 'What kind of message it is, in full.' })),
		recipient: Type.Optional(
			Type.String({ maxLength: LIMITS.address, format: 'idn-email', description: 'An address among its recipients.' }),
		),
		notificationId: Type.Optional(Type.String({ format: 'uuid', description: 'The notification that made it.' })),
		createdAfter: timeField('Accepted then or later.'),
		createdBefore: timeField('Accepted before.'),
		'metadata.{name}': Type.Optional(
			Type.String({
				...TEXT_FORM,
				maxLength: LIMITS.metadataValue,
				description:
					'With the name of a mark in place of `{name}`, such as `metadata.orderNo=A-17`: messages with this mark. Several must all be there.',
			}),
		),
	},
	{
		additionalProperties: false,
		patternProperties: { '^metadata\\.': { type: 'string', maxLength: LIMITS.metadataValue } },
	},
);

/** A message as the document shows it. */
export const MESSAGE_EXAMPLE = {
	id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	channel: 'MAIL',
	type: 'order.confirmed',
	status: 'SENT',
	scope: 'TENANT',
	priority: 'normal',
	recipients: [{ role: 'to', address: 'ann@example.com', outcome: 'ACCEPTED', code: '250', enhancedCode: '2.0.0', text: 'OK' }],
	subject: 'Your order A-17',
	attempts: 1,
	budgetUsed: 0,
	budgetMax: 5,
	waits: 0,
	partial: false,
	ambiguous: false,
	reason: null,
	dueAt: null,
	notBefore: null,
	validUntil: null,
	createdAt: '2026-11-30T09:00:00.000Z',
	sentAt: '2026-11-30T09:00:00.120Z',
	finishedAt: '2026-11-30T09:00:00.120Z',
	lastError: null,
	providerMessageId: null,
	serverId: '01930b5e-6c11-7a10-8f2e-5d0c4e1a9b37',
	dedupeKey: '~standalone:01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	notificationId: null,
	deadLetterId: null,
	waitsFor: null,
	traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
	metadata: { orderNo: 'A-17' },
};

/** `GET /v1/messages` and `GET /v1/messages/{id}`. */
export function messageOperations({ pool }: Pick<Db, 'pool'>): Operation[] {
	const list = operation({
		method: 'GET',
		path: '/v1/messages',
		operationId: 'listMessages',
		tag: 'Messages',
		access: 'messages:read',
		summary: 'List messages, newest first',
		query: Query,
		answers: { 200: pageSchema(Type.Ref('Message')) },
		example: { data: [MESSAGE_EXAMPLE], nextCursor: null },
		handle: async (request) => {
			const caller = callerOf(request);
			const { limit, before } = readPage(request.query);
			const filter = readFilter(request.query);
			const rows = await listMessages(pool, caller.tenant.id, { ...filter, ...(before === undefined ? {} : { before }) }, limit + 1);
			const page = pageOf(rows, limit);
			return { data: page.rows.map((row) => showMessage(row, caller)), nextCursor: page.nextCursor };
		},
	});
	const one = operation({
		method: 'GET',
		path: '/v1/messages/{id}',
		operationId: 'getMessage',
		tag: 'Messages',
		access: 'messages:read',
		summary: 'Where a message stands',
		answers: { 200: Type.Ref('Message') },
		example: MESSAGE_EXAMPLE,
		handle: async (request) => {
			const caller = callerOf(request);
			return showMessage(await requireMessage(pool, caller.tenant.id, request.params.id), caller);
		},
	});
	return [list, one];
}

/** Schemas that these operations refer to. */
export const MESSAGE_ANSWERS = [MessageSchema];

/** The message of a tenant; throws 404 when it is not there, or another tenant's. */
export async function requireMessage(pool: Db['pool'], tenantId: string, id: string): Promise<MessageRow> {
	const row = await findMessage(pool, tenantId, id);
	if (row === null) throw noSuchMessage();
	return row;
}

/** What is answered for a message that is not there, or another tenant's. */
export function noSuchMessage(): Problem {
	return new Problem('not-found', 'There is no such message.');
}

function readFilter(query: Readonly<Record<string, string>>): MessageFilter {
	const { channel, status, type, recipient, notificationId, createdAfter, createdBefore } = query;
	refuseControls(query);
	const metadata = Object.entries(query).filter(([field]) => field.startsWith('metadata.'));
	return {
		...(channel === undefined ? {} : { channel }),
		...(status === undefined ? {} : { status }),
		...(type === undefined ? {} : { type }),
		...(recipient === undefined ? {} : { addressHash: hashOfAddress(addressIn(recipient)) }),
		...(metadata.length === 0
			? {}
			: { metadata: Object.fromEntries(metadata.map(([field, value]) => [field.slice('metadata.'.length), value])) }),
		...(notificationId === undefined || !isUuid(notificationId) ? {} : { notificationId }),
		...(createdAfter === undefined ? {} : { createdAfter: timeIn('createdAfter', createdAfter) }),
		...(createdBefore === undefined ? {} : { createdBefore: timeIn('createdBefore', createdBefore) }),
	};
}

function addressIn(text: string): string {
	const address = readAddress(text);
	if (address === null) throw new Problem('malformed-request', '`recipient` must be one plain mail address.');
	return address;
}
