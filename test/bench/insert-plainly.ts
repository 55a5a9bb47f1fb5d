import type { NewRecord } from '@tidings/db';
import type pg from 'pg';

/** The rows of these records by a plain multi-row insert for each table, in one transaction: what storing them costs without us. */
export async function insertPlainly(pool: pg.Pool, records: readonly NewRecord[], flowId: string): Promise<void> {
	const of = <K extends keyof NewRecord>(key: K): NewRecord[K][] => records.map((record) => record[key]);
	const due = records.map(() => new Date());
	const client = await pool.connect();
	await client.query('begin');
	await client.query({
		name: 'plain-record',
		text: `insert into send_record (id, tenant_id, channel, route, lane, type, scope, config_id, config_tier, flow_id, metadata, trace_id, traceparent, dedupe_key, not_before, valid_until)
			select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::bigint[], $11::jsonb[], $12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::timestamptz[])`,
		values: [
			of('id'),
			of('tenantId'),
			of('channel'),
			of('route'),
			of('lane'),
			of('type'),
			of('scope'),
			of('configId'),
			of('configTier'),
			records.map(() => flowId),
			records.map((record) => JSON.stringify(record.metadata)),
			of('traceId'),
			of('traceparent'),
			of('dedupeKey'),
			of('notBefore'),
			of('validUntil'),
		],
	});
	await client.query({
		name: 'plain-state',
		text: `insert into send_state (id, tenant_id, status, budget_max, due_at, not_after) select id, t, 'PENDING', b, d, d + interval '72 h' from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[]) as s (id, t, b, d)`,
		values: [of('id'), of('tenantId'), of('budgetMax'), due],
	});
	await client.query({
		name: 'plain-payload',
		text: `insert into send_payload (id, tenant_id, subject, body_text, body_html, from_address, from_name, reply_to, headers, attachments)
			select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[], $9::jsonb[], $10::int[])`,
		values: [
			of('id'),
			of('tenantId'),
			of('subject'),
			of('text'),
			of('html'),
			records.map((record) => record.from.address),
			records.map((record) => record.from.name),
			records.map(() => null),
			records.map((record) => JSON.stringify(record.headers)),
			records.map((record) => record.attachments.length),
		],
	});
	const recipients = records.flatMap((record) =>
		record.recipients.map((one, n) => ({ ...one, n, id: record.id, tenantId: record.tenantId })),
	);
	await client.query({
		name: 'plain-recipient',
		text: `insert into send_recipient (id, n, tenant_id, role, address, name, address_hash) select * from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bytea[])`,
		values: [
			recipients.map((one) => one.id),
			recipients.map((one) => one.n),
			recipients.map((one) => one.tenantId),
			recipients.map((one) => one.role),
			recipients.map((one) => one.address),
			recipients.map((one) => one.name),
			recipients.map((one) => one.addressHash),
		],
	});
	await client.query({
		name: 'plain-entry',
		text: `insert into outbox_entry (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
			select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::timestamptz[], $8::text[], $9::text[])`,
		values: [
			of('id'),
			of('tenantId'),
			of('route'),
			of('lane'),
			of('configId'),
			records.map(() => flowId),
			due,
			of('traceId'),
			of('traceparent'),
		],
	});
	await client.query('commit');
	client.release();
}
