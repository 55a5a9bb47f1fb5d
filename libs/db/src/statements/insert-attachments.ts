import type { NewRecord } from '../accepting.js';
import type { Queryable } from '../client.js';

/** Writes the attachments of these records. Each content is a parameter of its own: arrays of bytea would travel as hexadecimal text, twice as long. */
export async function insertAttachments(client: Queryable, records: readonly NewRecord[]): Promise<void> {
	const rows = records.flatMap((record) =>
		record.attachments.map((one, n) => [
			record.id,
			n,
			record.tenantId,
			one.filename,
			one.contentType,
			one.contentId,
			one.content.length,
			one.content,
		]),
	);
	if (rows.length === 0) return;
	const tuples = rows.map((row, r) => `(${row.map((_, c) => `$${r * row.length + c + 1}`).join(', ')})`);
	await client.query(
		`insert into attachment (id, n, tenant_id, filename, content_type, content_id, bytes, content) values ${tuples.join(', ')}`,
		rows.flat(),
	);
}
