import type { Queryable } from '../client.js';

/** An attachment as it is sent. */
export type LoadedAttachment = {
	readonly recordId: string;
	readonly filename: string;
	readonly contentType: string;
	readonly contentId: string | null;
	readonly content: Buffer;
};

/** The attachments of these records, in their order within each. Read by (id, n), the primary key. */
export async function loadAttachments(pool: Queryable, keys: readonly { id: string; tenantId: string }[]): Promise<LoadedAttachment[]> {
	const { rows } = await pool.query<{ id: string; filename: string; content_type: string; content_id: string | null; content: Buffer }>({
		name: 'load-attachments',
		text: `
			select a.id, a.filename, a.content_type, a.content_id, a.content
			from unnest($1::uuid[], $2::uuid[]) as k (id, tenant_id) join attachment a using (id, tenant_id) order by a.id, a.n`,
		values: [keys.map((key) => key.id), keys.map((key) => key.tenantId)],
	});
	return rows.map((row) => ({
		recordId: row.id,
		filename: row.filename,
		contentType: row.content_type,
		contentId: row.content_id,
		content: row.content,
	}));
}
