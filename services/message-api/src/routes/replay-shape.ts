import type { LetterVerdicts, RefusalCounts, ReplayRow, UnreplayedLetter } from '@tidings/db';
import { CATEGORIES, CHANNELS, DEAD_LETTER_SOURCES, LIMITS, REPLAY_REFUSALS, REPLAY_STATUSES, type ReplayRefusal } from '@tidings/model';
import { type Static, type TObject, Type } from 'typebox';
import { TEXT_FORM } from '../checks/text.js';
import type { TextMask } from './record-masks.js';
import { NOTE, nullable, timeText } from './shapes.js';

const closed = { additionalProperties: false } as const;
/** Letters of a replay by ids at most. */
const MOST_IDS = 10_000;
/** Letters a second when nothing is said. */
export const DEFAULT_RATE = 50;

const time = (description: string) =>
	Type.Optional(Type.String({ maxLength: 40, format: 'date-time', description: `${description} RFC 3339 with a zone.` }));
const FILTER_FIELDS = {
	status: Type.Optional(Type.Enum(['PENDING'], { description: 'Only open letters can be replayed.' })),
	source: Type.Optional(Type.Enum([...DEAD_LETTER_SOURCES], { description: 'Why it is a dead letter.' })),
	channel: Type.Optional(Type.Enum([...CHANNELS], { description: 'What it was to be delivered by.' })),
	category: Type.Optional(Type.Enum([...CATEGORIES], { description: 'Kind of the last refusal.' })),
	type: Type.Optional(Type.String({ ...TEXT_FORM, maxLength: LIMITS.type, description: "The message's type, in full." })),
	createdAfter: time('Written then or later.'),
	createdBefore: time('Written before.'),
	text: Type.Optional(
		Type.String({
			...TEXT_FORM,
			minLength: 1,
			maxLength: 200,
			description:
				'Stands somewhere in `error` or `type`, in upper or lower case; taken literally. Only with the capability `content:read`.',
		}),
	),
};

export const NewReplaySchema = Type.Object(
	{
		filter: Type.Optional(
			Type.Object(FILTER_FIELDS, {
				...closed,
				description:
					'Which open letters, as in the list; `{}`: all. Those are taken that were written before the replay begins. Either this or `ids`.',
			}),
		),
		ids: Type.Optional(
			Type.Array(Type.String({ format: 'uuid' }), {
				minItems: 1,
				maxItems: MOST_IDS,
				description: 'These letters. One that stands twice counts once.',
			}),
		),
		dryRun: Type.Optional(Type.Boolean({ description: 'Say what would happen, and do nothing. Default: false.' })),
		ratePerSecond: Type.Optional(
			Type.Integer({ minimum: 1, maximum: 1_000, description: `Letters a second at most. Default: ${DEFAULT_RATE}.` }),
		),
		note: NOTE,
	},
	{ $id: 'NewDeadLetterReplay', ...closed },
);

const REASONS = Object.keys(REPLAY_REFUSALS) as ReplayRefusal[];
const count = (description: string) => Type.Integer({ minimum: 0, description });
const REPORT_FIELDS = {
	refusals: Type.Array(
		Type.Object({ reason: Type.Enum(REASONS, { description: 'Why.' }), count: Type.Integer({ minimum: 1, description: 'How many.' }) }),
		{
			description: 'Why letters were refused, and how many.',
		},
	),
	sample: Type.Array(
		Type.Object({
			letterId: Type.String({ format: 'uuid', description: 'The letter; of `not-found`: the id that was given.' }),
			reason: Type.Enum([...REASONS, 'failed'], {
				description: '`failed`: replaying it failed; the log of the dead-letter service says how.',
			}),
			detail: Type.String({ description: 'The reason in words.' }),
		}),
		{ description: 'Some letters that were not replayed, at most five of each reason.' },
	),
};

/** What a replay would do. */
export const ReplayPreviewSchema = Type.Object(
	{
		matched: count('Letters that it would be about.'),
		replayable: count('Those of them that would be replayed.'),
		ambiguous: count('Those of these that may have been sent already: their mail server took the content and did not answer.'),
		...REPORT_FIELDS,
	},
	{ $id: 'DeadLetterReplayPreview', description: 'What a replay would do now. Nothing was written.' },
);

/** A replay of many letters. */
export const ReplaySchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		state: Type.Enum([...REPLAY_STATUSES], {
			description: '`DONE`: every letter had its turn. `STOPPED`: a person stopped it. `FAILED`: it could not go on.',
		}),
		filter: Type.Unsafe<Readonly<Record<string, string>> | null>({
			...Type.Object(FILTER_FIELDS),
			type: ['object', 'null'],
			description: 'As it was asked for, `text` hidden without the capability `content:read`; null: by ids.',
		}),
		ratePerSecond: Type.Integer({ minimum: 1, maximum: 1_000, description: 'Letters a second at most.' }),
		matched: count('Letters that it is about.'),
		replayed: count('Letters that were replayed.'),
		refused: count('Letters that could not be replayed, or were closed before their turn came.'),
		failed: count('Letters at which something went wrong; they stay as they are.'),
		...REPORT_FIELDS,
		note: nullable(
			Type.String({ description: 'What was noted at its beginning, addresses masked without the capability `content:read`.' }),
		),
		actor: Type.String({ description: 'Who began it.' }),
		error: nullable(Type.String({ description: '`FAILED`: why.' })),
		createdAt: timeText('When it began.'),
		finishedAt: nullable(timeText('When it ended.')),
	},
	{ $id: 'DeadLetterReplay', description: 'A replay of many dead letters, and how far it is.' },
);

const showRefusals = (refusals: RefusalCounts): { reason: ReplayRefusal; count: number }[] =>
	REASONS.flatMap((reason) => {
		const many = refusals[reason] ?? 0;
		return many > 0 ? [{ reason, count: many }] : [];
	});
const showSample = (sample: readonly UnreplayedLetter[]) =>
	sample.map(({ letterId, reason }) => ({
		letterId,
		reason: reason ?? ('failed' as const),
		detail: reason === null ? 'Something went wrong at this letter. It stays as it is.' : REPLAY_REFUSALS[reason],
	}));

/** Shows what a replay would do. */
export function showPreview({ matched, replayable, ambiguous, refusals, sample }: LetterVerdicts): Static<typeof ReplayPreviewSchema> {
	return { matched, replayable, ambiguous, refusals: showRefusals(refusals), sample: showSample(sample) };
}

/** Shows a replay. `mask` hides addresses in what a person wrote; null for those who may read them. */
export function showReplay(row: ReplayRow, mask: TextMask): Static<typeof ReplaySchema> {
	const { status, filter, note, refusals, sample, createdAt, finishedAt, ...same } = row;
	return {
		...same,
		state: status,
		// Who searched for a text may have known an address that whoever asks must not.
		filter: filter?.['text'] === undefined || mask === null ? filter : { ...filter, text: '•••' },
		note: mask === null ? note : mask(note),
		refusals: showRefusals(refusals),
		sample: showSample(sample),
		createdAt: createdAt.toISOString(),
		finishedAt: finishedAt?.toISOString() ?? null,
	};
}

/** Schemas that operations on replays refer to. */
export const REPLAY_SCHEMAS: readonly TObject[] = [NewReplaySchema, ReplayPreviewSchema, ReplaySchema];
