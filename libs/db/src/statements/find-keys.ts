import type { Accepted } from '../accepting.js';
import type { Queryable } from '../client.js';

/** An idempotency key that is stored already. */
export type StoredAnswer = { tenantId: string; operation: string; key: string; bodySha256: Buffer; response: Accepted };
/** A dedupe key that is stored already. */
export type StoredTwin = { tenantId: string; key: string; recordId: string };

type Row = {
	kind: 'answer' | 'twin';
	tenant_id: string;
	operation: string;
	key: string;
	body_sha256: Buffer;
	response: Accepted;
	record_id: string;
};

/** Looks up idempotency and dedupe keys by their primary keys, in one round trip. The arrays of each kind run in parallel. */
export async function findKeys(
	client: Queryable,
	answers: readonly { tenantId: string; operation: string; key: string }[],
	twins: readonly { tenantId: string; key: string }[],
): Promise<{ answers: StoredAnswer[]; twins: StoredTwin[] }> {
	const { rows } = await client.query<Row>({
		name: 'find-keys',
		text: `
			select 'answer' as kind, i.tenant_id, i.operation, i.key, i.body_sha256, i.response, null::uuid as record_id
			from unnest($1::uuid[], $2::text[], $3::text[]) as q (tenant_id, operation, key)
			join idempotency_key i using (tenant_id, operation, key)
			union all
			select 'twin', d.tenant_id, null, d.key, null, null, d.record_id
			from unnest($4::uuid[], $5::text[]) as q (tenant_id, key)
			join dedupe_key d using (tenant_id, key)`,
		values: [
			answers.map((one) => one.tenantId),
			answers.map((one) => one.operation),
			answers.map((one) => one.key),
			twins.map((one) => one.tenantId),
			twins.map((one) => one.key),
		],
	});
	return {
		answers: rows
			.filter((row) => row.kind === 'answer')
			.map((row) => ({
				tenantId: row.tenant_id,
				operation: row.operation,
				key: row.key,
				bodySha256: row.body_sha256,
				response: row.response,
			})),
		twins: rows.filter((row) => row.kind === 'twin').map((row) => ({ tenantId: row.tenant_id, key: row.key, recordId: row.record_id })),
	};
}
