import type { Accepted, IdempotencyKey } from '../accepting.js';
import type { Queryable } from '../client.js';

/** Stores what callers with an idempotency key are told, in the transaction that accepts them. */
export async function insertAnswers(client: Queryable, answers: readonly { key: IdempotencyKey; response: Accepted }[]): Promise<void> {
	await client.query({
		name: 'insert-answers',
		text: `
			insert into idempotency_key (tenant_id, operation, key, body_sha256, response)
			select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::jsonb[])`,
		values: [
			answers.map((one) => one.key.tenantId),
			answers.map((one) => one.key.operation),
			answers.map((one) => one.key.key),
			answers.map((one) => one.key.bodySha256),
			answers.map((one) => JSON.stringify(one.response)),
		],
	});
}
