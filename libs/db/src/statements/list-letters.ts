import type { Category, Channel, DeadLetterSource, DeadLetterStatus } from '@tidings/model';
import type { Queryable } from '../client.js';
import { type LetterFilter, letterConditions } from '../letter-conditions.js';

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

const COLUMNS = `id, source, status, record_id as "recordId", channel, type, category, error, topic, message_id as "messageId",
	resolution, note, actor, created_at as "createdAt", closed_at as "closedAt"`;

/** A tenant's letters, newest first, at most `limit`. Walks dead_letter_list from the cursor or the end of the time range, and stops when the page is full. */
export async function listLetters(pool: Queryable, tenantId: string, filter: LetterFilter, limit: number): Promise<LetterRow[]> {
	const conditions = letterConditions(tenantId, filter, 'l');
	conditions.values.push(limit);
	const { rows } = await pool.query<LetterRow>({
		text: `select ${COLUMNS} from dead_letter_message l where ${conditions.text()} order by id desc limit $${conditions.values.length}`,
		values: conditions.values,
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
