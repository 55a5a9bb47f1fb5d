import type { LetterRow } from '@tidings/db';
import { CATEGORIES, CHANNELS, DEAD_LETTER_SOURCES, DEAD_LETTER_STATUSES } from '@tidings/model';
import { type Static, type TObject, Type } from 'typebox';
import { ContentSchema } from './message-details.js';
import { MessageSchema } from './message-shape.js';
import type { TextMask } from './record-masks.js';
import { nullable, timeText } from './shapes.js';

const text = (description: string) => nullable(Type.String({ description }));

/** One of these values, or null. */
const oneOf = <T extends string>(values: readonly T[], description: string) =>
	Type.Unsafe<T | null>({ type: ['string', 'null'], enum: [...values, null], description });

const LETTER_FIELDS = {
	id: Type.String({ format: 'uuid' }),
	source: Type.Enum([...DEAD_LETTER_SOURCES], {
		description:
			'`SEND_EXHAUSTED`: every attempt was used up, or trying again has no use. `BROKER_POISON`: a topic message that nobody could process. `AMBIGUOUS`: nobody knows whether it was sent. `EXPIRED`: it came too late. `REPORT_FAILED`: a report could not be made.',
	}),
	status: Type.Enum([...DEAD_LETTER_STATUSES], { description: '`PENDING` waits for a person.' }),
	recordId: nullable(
		Type.String({
			format: 'uuid',
			description: 'The message that it is about; null when none is known, or when another open letter has it.',
		}),
	),
	channel: oneOf(CHANNELS, 'What it was to be delivered by.'),
	type: text("The message's type."),
	category: oneOf(CATEGORIES, 'Kind of the last refusal.'),
	error: text('What went wrong, addresses masked without the capability `content:read`.'),
	topic: text('`BROKER_POISON`: where the topic message was published.'),
	messageId: text('`BROKER_POISON`: the id that it had there.'),
	resolution: text('How it was closed.'),
	note: text('What was noted at its closing, addresses masked without the capability `content:read`.'),
	actor: text('Who closed it.'),
	createdAt: timeText('When it was written.'),
	closedAt: nullable(timeText('When it was closed.')),
};

/** A dead letter as it is listed. */
export const LetterSchema = Type.Object(LETTER_FIELDS, {
	$id: 'DeadLetter',
	description: 'What could not be delivered, for a person to decide about.',
});

/** A letter as the document shows it. */
export const LETTER_EXAMPLE = {
	id: '01930b62-1f0e-7b1c-8a54-90d3c1f2ab10',
	source: 'SEND_EXHAUSTED',
	status: 'PENDING',
	recordId: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	channel: 'MAIL',
	type: 'order.confirmed',
	category: 'AUTH',
	error: 'Authentication credentials invalid',
	topic: null,
	messageId: null,
	resolution: null,
	note: null,
	actor: null,
	createdAt: '2026-11-30T09:00:00.120Z',
	closedAt: null,
};

const RecordSchema = Type.Object({
	...Type.Pick(MessageSchema as TObject, [
		'id',
		'status',
		'subject',
		'recipients',
		'attempts',
		'budgetUsed',
		'budgetMax',
		'partial',
		'ambiguous',
		'dueAt',
		'createdAt',
	]).properties,
	lastAttempts: Type.Array(Type.Ref('Attempt'), { description: 'The newest tries, at most ten, the newest first.' }),
	content: nullable(
		Type.Object((ContentSchema as TObject).properties, { description: 'What is sent. Null without the capability `content:read`.' }),
	),
});

/** A dead letter looked into. */
export const LetterDetailsSchema = Type.Object(
	{
		...LETTER_FIELDS,
		envelope: text(
			'`BROKER_POISON`: what the topic message held, as text, at most 10,000 characters; addresses masked without `content:read`.',
		),
		record: nullable(
			Type.Object(RecordSchema.properties, {
				description: 'The message that it is about; null when none is known, or it is not kept any more.',
			}),
		),
	},
	{ $id: 'DeadLetterDetails', description: 'A dead letter, and the message that it is about.' },
);

/** Shows a letter. `mask` hides addresses in what went wrong and what was noted; null for those who may read them. */
export function showLetter(row: LetterRow, mask: TextMask): Static<typeof LetterSchema> {
	const { createdAt, closedAt, error, note, ...same } = row;
	return {
		...same,
		error: mask === null ? error : mask(error),
		note: mask === null ? note : mask(note),
		createdAt: createdAt.toISOString(),
		closedAt: closedAt === null ? null : closedAt.toISOString(),
	};
}
