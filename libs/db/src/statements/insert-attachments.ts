import type { NewRecord } from '../accepting.js';
import type { Queryable } from '../client.js';

/** A statement has 65,535 parameters at most. */
const ROWS = 1_000;

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
	for (let at = 0; at < rows.length; at += ROWS) {
		const some = rows.slice(at, at + ROWS);
		const tuples = some.map((row, r) => `(${row.map((_, c) => `$${r * row.length + c + 1}`).join(', ')})`);
		await client.query(
			`insert into attachment (id, n, tenant_id, filename, content_type, content_id, bytes, content) values ${tuples.join(', ')}`,
			some.flat(),
		);
	}
}
