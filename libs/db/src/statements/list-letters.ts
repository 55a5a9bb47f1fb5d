import { type Category, type Channel, type DeadLetterSource, type DeadLetterStatus, idAt } from '@tidings/model';
import type { Queryable } from '../client.js';

/** A dead letter as it is listed. */
export type LetterRow = {
	readonly id: string;
	readonly source: DeadLetterSource;
	readonly status: DeadLetterStatus;
	readonly recordId: string | null;
	readonly channel: Channel | null;
	readonly type: string | null;
	readonly category: Category | null;
	readonly error: string | null;
	readonly topic: string | null;
	readonly messageId: string | null;
	readonly resolution: string | null;
	readonly note: string | null;
	readonly actor: string | null;
	readonly createdAt: Date;
	readonly closedAt: Date | null;
};

/** Which letters are wanted; what is absent does not filter. */
export type LetterFilter = {
	readonly status?: string;
	readonly source?: string;
	readonly channel?: string;
	readonly category?: string;
	readonly type?: string;
	/** Stands somewhere in the error or the type, in whatever case. */
	readonly text?: string;
	/** At this time or later. */
	readonly createdAfter?: Date;
	/** Before this time. */
	readonly createdBefore?: Date;
	/** Letters older than this one. */
	readonly before?: string;
};

const COLUMNS = `id, source, status, record_id as "recordId", channel, type, category, error, topic, message_id as "messageId",
	resolution, note, actor, created_at as "createdAt", closed_at as "closedAt"`;

/** A letter's id is made when its statement runs, its time is that of the transaction's begin: they differ by this much at most. */
const SLACK_MS = 3_600_000;

/** A tenant's letters, newest first, at most `limit`. Walks dead_letter_list from the cursor or the end of the time range, and stops when the page is full. */
export async function listLetters(pool: Queryable, tenantId: string, filter: LetterFilter, limit: number): Promise<LetterRow[]> {
	const values: unknown[] = [tenantId];
	const conditions = ['tenant_id = $1'];
	const where = (value: unknown, condition: (parameter: string) => string): void => {
		if (value === undefined) return;
		values.push(value);
		conditions.push(condition(`$${values.length}`));
	};
	where(filter.before, (p) => `id < ${p}::uuid`);
	where(filter.status, (p) => `status = ${p}`);
	where(filter.source, (p) => `source = ${p}`);
	where(filter.channel, (p) => `channel = ${p}`);
	where(filter.category, (p) => `category = ${p}`);
	where(filter.type, (p) => `type = ${p}`);
	where(filter.text && `%${filter.text.replaceAll(/[\\%_]/g, '\\$&')}%`, (p) => `(error ilike ${p} or type ilike ${p})`);
	where(filter.createdAfter, (p) => `created_at >= ${p}::timestamptz`);
	where(filter.createdAfter && idAt(new Date(filter.createdAfter.getTime() - SLACK_MS)), (p) => `id >= ${p}::uuid`);
	where(filter.createdBefore, (p) => `created_at < ${p}::timestamptz`);
	where(filter.createdBefore && idAt(new Date(filter.createdBefore.getTime() + SLACK_MS)), (p) => `id < ${p}::uuid`);
	values.push(limit);
	const { rows } = await pool.query<LetterRow>({
		text: `select ${COLUMNS} from dead_letter_message where ${conditions.join(' and ')} order by id desc limit $${values.length}`,
		values,
	});
	return rows;
}

/** One letter of a tenant, with the envelope of a poison message as text; null when it is not there or not the tenant's. */
export async function findLetter(pool: Queryable, tenantId: string, id: string): Promise<(LetterRow & { envelope: string | null }) | null> {
	const { rows } = await pool.query<LetterRow & { envelope: string | null }>({
		name: 'find-letter',
		text: `select ${COLUMNS}, envelope #>> '{}' as envelope from dead_letter_message where id = $1::uuid and tenant_id = $2::uuid`,
		values: [id, tenantId],
	});
	return rows[0] ?? null;
}
