import { countMessages, type Db, STAT_DIMENSIONS, type StatDimension } from '@tidings/db';
import { CHANNELS, LANES, now, Problem, SEND_STATUSES } from '@tidings/model';
import { callerOf, type Operation, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { createTurns } from '../take-turns.js';
import { timeField, timeIn } from './read-query.js';
import { nullable, timeText } from './shapes.js';

const DAY_MS = 86_400_000;
const LONGEST_DAYS = 31;
const MOST_GROUPS = 10_000;
const BY_DEFAULT = 'channel,status';
/** Counting a month of a large tenant takes seconds: it leaves connections to those who send. */
const TURNS = { atOnce: 2, waiting: 20 };
const AGAIN_SECONDS = 5;

const Query = Type.Object(
	{
		from: timeField(`Accepted then or later. Default: 24 hours before \`to\`; at most ${LONGEST_DAYS} days before it.`),
		to: timeField('Accepted before. Default: now.'),
		by: Type.Optional(
			Type.String({
				maxLength: 100,
				pattern: byPattern(),
				'x-form': `a list of ${STAT_DIMENSIONS.map((one) => `\`${one}\``).join(', ')}, separated by commas`,
				description: `What to count by, separated by commas, each once: ${STAT_DIMENSIONS.map((one) => `\`${one}\``).join(', ')}. Default \`${BY_DEFAULT}\`. \`day\` and \`hour\` are of the acceptance, in UTC.`,
			}),
		),
	},
	{ additionalProperties: false },
);

const Stats = Type.Object(
	{
		from: timeText('As counted.'),
		to: timeText('As counted.'),
		by: Type.Array(Type.Enum([...STAT_DIMENSIONS]), { description: 'As counted, in the order of the request.' }),
		data: Type.Array(
			Type.Object({
				channel: Type.Optional(Type.Enum([...CHANNELS])),
				status: Type.Optional(Type.Enum([...SEND_STATUSES], { description: 'Where they stand now.' })),
				type: Type.Optional(Type.String()),
				priority: Type.Optional(Type.Enum([...LANES])),
				scope: Type.Optional(Type.Enum(['TENANT', 'PLATFORM'])),
				serverId: Type.Optional(nullable(Type.String({ format: 'uuid', description: 'The mail server that they were accepted for.' }))),
				day: Type.Optional(Type.String({ format: 'date', description: 'The day of acceptance, in UTC.' })),
				hour: Type.Optional(timeText('The begin of the hour of acceptance.')),
				count: Type.Integer({ minimum: 1, description: 'How many messages.' }),
			}),
			{ description: 'One group each, ordered by their values; groups without a message are absent.' },
		),
	},
	{ $id: 'Stats', description: 'How many messages were accepted, and where they stand now.' },
);

/** Schemas that these operations refer to. */
export const STATS_ANSWERS = [Stats];

const EXAMPLE = {
	from: '2026-11-29T09:00:00.000Z',
	to: '2026-11-30T09:00:00.000Z',
	by: ['channel', 'status'],
	data: [
		{ channel: 'MAIL', status: 'DEAD_LETTER', count: 3 },
		{ channel: 'MAIL', status: 'SENT', count: 4_812 },
	],
};

/** `GET /v1/stats`. */
export function statsOperations({ pool }: Pick<Db, 'pool'>): Operation[] {
	const takeTurn = createTurns(TURNS);
	const stats = operation({
		method: 'GET',
		path: '/v1/stats',
		operationId: 'getStats',
		tag: 'Statistics',
		access: 'messages:read',
		summary: 'How many messages, by what you want to know',
		description: `Counts the messages that were accepted in a range of time of at most ${LONGEST_DAYS} days, by where they stand now. At most ${MOST_GROUPS} groups: what has more is refused, and is asked for in shorter ranges.`,
		query: Query,
		answers: { 200: Type.Ref('Stats') },
		errors: ['overloaded'],
		example: EXAMPLE,
		handle: async (request) => {
			const range = readRange(request.query);
			const turn = takeTurn(() => countMessages(pool, callerOf(request).tenant.id, range, MOST_GROUPS + 1));
			if (turn === null)
				throw new Problem('overloaded', 'Many are counting at once. Repeat this request.', { retryAfterSeconds: AGAIN_SECONDS });
			const rows = await turn;
			if (rows.length > MOST_GROUPS)
				throw new Problem('malformed-request', `There are more than ${MOST_GROUPS} groups: give a shorter range, or count by less.`);
			return { from: range.from.toISOString(), to: range.to.toISOString(), by: range.by, data: rows };
		},
	});
	return [stats];
}

function readRange(query: { from?: string; to?: string; by?: string }): { from: Date; to: Date; by: StatDimension[] } {
	const to = query.to === undefined ? now() : timeIn('to', query.to);
	const from = query.from === undefined ? new Date(to.getTime() - DAY_MS) : timeIn('from', query.from);
	if (from >= to) throw new Problem('malformed-request', '`from` must be before `to`.');
	if (to.getTime() - from.getTime() > LONGEST_DAYS * DAY_MS)
		throw new Problem('malformed-request', `From \`from\` to \`to\` there may be ${LONGEST_DAYS} days at most.`);
	const by = (query.by ?? BY_DEFAULT).split(',') as StatDimension[];
	const twice = by.find((one, index) => by.indexOf(one) < index);
	if (twice !== undefined) throw new Problem('malformed-request', `\`by\` names \`${twice}\` twice.`);
	return { from, to, by };
}

function byPattern(): string {
	const one = `(${STAT_DIMENSIONS.join('|')})`;
	return `^${one}(,${one})*$`;
}
