import type { Queryable } from '../client.js';

/** A message that no consumer can understand. `tenantId` and `recordId` as far as it names real ones. */
export type Poison = { readonly topic: string; readonly messageId: string; readonly reason: string; readonly envelope: string };

/**
 * Archives poison once, unique on (topic, message id), as the platform's own letter: whose it is cannot be trusted.
 * `envelope` is kept as text, without control characters that Postgres refuses, at most 10,000 characters.
 */
export async function archivePoison(pool: Queryable, poison: Poison): Promise<void> {
	const text = [...poison.envelope.slice(0, 10_000)].map((char) => (char < ' ' || char === '\u007f' ? ' ' : char)).join('');
	await pool.query({
		name: 'archive-poison',
		text: `
			insert into dead_letter_message (id, tenant_id, source, topic, message_id, error, envelope)
			select uuid_v7(), coalesce((select id from tenant where kind = 'PLATFORM'), '00000000-0000-0000-0000-000000000000'), 'BROKER_POISON', $1, $2, $3, to_jsonb($4::text)
			on conflict (topic, message_id) where topic is not null do nothing`,
		values: [poison.topic, poison.messageId, poison.reason, text],
	});
}
