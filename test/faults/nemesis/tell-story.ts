import type { Db } from '@tidings/db';
import type { Ground } from './ground.js';

/** Something that the nemesis did: when, and what. */
export type Deed = { readonly at: Date; readonly until: Date; readonly text: string };

type Event = { readonly at: string; readonly text: string };

/** The tables that say something about a record, with the column that names it and the time of each row. */
const TABLES: readonly (readonly [string, string, string])[] = [
	['send_record', 'id', 'created_at'],
	['send_state', 'id', 'coalesce(finished_at, claimed_at, now())'],
	['send_recipient', 'id', 'now()'],
	['delivery_attempt', 'id', 'finished_at'],
	['outbox_entry', 'id', 'coalesce(published_at, due_at)'],
	['dead_letter_message', 'record_id', 'created_at'],
	['audit_event', 'subject_id', 'at'],
];

/** All that is known about a record, in order of time: its rows, its mails at the sinks, the lines that name it, and what the nemesis did around it. */
export async function tellStory(ground: Ground, deeds: readonly Deed[], id: string): Promise<string> {
	const events = [...(await rowsOf(ground.mesh.db, id)), ...mailsOf(ground, id), ...linesOf(ground, id)];
	const times = events.map((one) => one.at).sort();
	const [from = '', to = ''] = [times[0], times.at(-1)];
	const around = deeds
		.filter((one) => one.until.toISOString() >= from && one.at.toISOString() <= to)
		.map((one): Event => ({ at: one.at.toISOString(), text: `NEMESIS ${one.text}, until ${one.until.toISOString()}` }));
	const story = [...events, ...around].sort((a, b) => (a.at < b.at ? -1 : 1));
	return [`── the story of ${id}`, ...story.map(({ at, text }) => `${at}  ${text}`)].join('\n');
}

/** What each table says of a record. */
export async function rowsOf(db: Db, id: string): Promise<Event[]> {
	const found = await Promise.all(
		TABLES.map(async ([table, column, time]) => {
			const { rows } = await db.pool.query<{ at: Date; row: object }>(
				`select ${time} as at, row_to_json(t) as row from ${table} t where ${column}::text = $1`,
				[id],
			);
			return rows.map(({ at, row }): Event => ({ at: at.toISOString(), text: `${table} ${JSON.stringify(row)}` }));
		}),
	);
	return found.flat();
}

function mailsOf(ground: Ground, id: string): Event[] {
	return ground
		.mails()
		.filter((mail) => mail.messageId.includes(id))
		.map((mail): Event => ({ at: mail.at?.toISOString() ?? '', text: `SINK accepted it for ${mail.to.join(', ')}` }));
}

function linesOf(ground: Ground, id: string): Event[] {
	return ground
		.lines()
		.filter((line) => JSON.stringify(line).includes(id))
		.map(
			(line): Event => ({
				at: String(line['time'] ?? ''),
				text: `${line['service']} ${line['pid']}: ${line.msg} ${JSON.stringify(line).slice(0, 400)}`,
			}),
		);
}
