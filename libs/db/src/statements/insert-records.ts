import type { NewRecord, QuotaRule, QuotaWarning } from '../accepting.js';
import type { Queryable } from '../client.js';
import { bucketValues, costsOf } from '../quota-costs.js';
import { CROSSED, readWarnings, takeQuota } from './take-quota.js';

/** A record with the flow that its outbox entry joins. */
export type FlowingRecord = NewRecord & { readonly flowId: string };

/** What stands before the quota in the order of writing. */
const WRITTEN = ['record', 'state', 'payload', 'entry', 'recipient', 'twin'].map((table) => `(select count(*) from ${table})`).join(' + ');

const TEXT = `
	with i as materialized (
		select * from unnest(
			$1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::bigint[], $11::jsonb[],
			$12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::timestamptz[], $17::int[],
			$18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::jsonb[], $24::jsonb[], $25::int[], $26::int[]
		) as i (
			id, tenant_id, channel, route, lane, type, scope, config_id, config_tier, flow_id, metadata,
			trace_id, traceparent, dedupe_key, not_before, valid_until, budget_max,
			subject, body_text, body_html, from_address, from_name, reply_to, headers, attachments, max_age
		)
	),
	record as (
		insert into send_record (id, tenant_id, channel, route, lane, type, scope, config_id, config_tier, flow_id, metadata, trace_id, traceparent, dedupe_key, not_before, valid_until)
		select id, tenant_id, channel, route, lane, type, scope, config_id, config_tier, flow_id, metadata, trace_id, traceparent, dedupe_key, not_before, valid_until from i
		returning 1
	),
	state as (
		insert into send_state (id, tenant_id, status, budget_max, due_at, not_after)
		select id, tenant_id, 'PENDING', budget_max, due, coalesce(valid_until, due + make_interval(secs => max_age))
		from i cross join lateral (select greatest(now(), not_before) as due) as d
		returning 1
	),
	payload as (
		insert into send_payload (id, tenant_id, subject, body_text, body_html, from_address, from_name, reply_to, headers, attachments)
		select id, tenant_id, subject, body_text, body_html, from_address, from_name, reply_to, headers, attachments from i
		returning 1
	),
	entry as (
		insert into outbox_entry (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
		select id, tenant_id, route, lane, config_id, flow_id, greatest(now(), not_before), trace_id, traceparent from i
		returning 1
	),
	recipient as (
		insert into send_recipient (id, n, tenant_id, role, address, name, address_hash)
		select * from unnest($27::uuid[], $28::int[], $29::uuid[], $30::text[], $31::text[], $32::text[], $33::bytea[])
		returning 1
	),
	twin as (
		insert into dedupe_key (tenant_id, key, record_id) select tenant_id, dedupe_key, id from i where dedupe_key is not null
		returning 1
	),
	${takeQuota(34, WRITTEN)}
	select now() as at, ${CROSSED} as crossed`;

/**
 * Writes records with all that belongs to them, and their outbox entries, in one statement: law 2; then takes what they cost of the monthly quota. Returns the time of the
 * transaction and what is to be warned of. Throws what `isQuotaFull` knows when they cost more than is left.
 */
export async function insertRecords(
	client: Queryable,
	records: readonly FlowingRecord[],
	{ caps, beyond }: QuotaRule,
): Promise<{ at: Date; warnings: readonly QuotaWarning[] }> {
	const recipients = records.flatMap((record) =>
		record.recipients.map((one, index) => ({ ...one, id: record.id, tenantId: record.tenantId, n: index })),
	);
	const of = <K extends keyof FlowingRecord>(key: K): FlowingRecord[K][] => records.map((record) => record[key]);
	const { rows } = await client.query<{ at: Date; crossed: QuotaWarning[] | null }>({
		name: 'insert-records',
		text: TEXT,
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
			of('flowId'),
			records.map((record) => JSON.stringify(record.metadata)),
			of('traceId'),
			of('traceparent'),
			of('dedupeKey'),
			of('notBefore'),
			of('validUntil'),
			of('budgetMax'),
			of('subject'),
			of('text'),
			of('html'),
			records.map((record) => record.from.address),
			records.map((record) => record.from.name),
			records.map((record) => (record.replyTo === null ? null : JSON.stringify(record.replyTo))),
			records.map((record) => JSON.stringify(record.headers)),
			records.map((record) => record.attachments.length),
			of('maxAgeSeconds'),
			recipients.map((one) => one.id),
			recipients.map((one) => one.n),
			recipients.map((one) => one.tenantId),
			recipients.map((one) => one.role),
			recipients.map((one) => one.address),
			recipients.map((one) => one.name),
			recipients.map((one) => one.addressHash),
			...bucketValues(costsOf(records), caps),
			beyond,
		],
	});
	const [row] = rows;
	if (row === undefined) throw new Error('insert-records answered no row');
	return { at: row.at, warnings: readWarnings(row.crossed) };
}
