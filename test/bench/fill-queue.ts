import type { Queryable } from '@tidings/db';
import pg from 'pg';
import type { Sender } from '../harness/records.js';
import { mailOf } from './mail.js';

/** A tenant's mail server with the flow of its mails. */
export type QueueOf = Sender & { readonly flowId: string };

/** So many rows at a time: no statement of a fill runs for long. */
const STEP = 20_000;

/**
 * Appends mails that are due, the oldest first, to these flows in turn: every table that accepting writes to, as accepting fills it. All by the database itself, so that a million of them
 * take no memory here. Nobody is woken.
 */
export async function appendMails(client: Queryable, queues: readonly QueueOf[], count: number): Promise<void> {
	const { subject, html } = mailOf(0);
	for (let from = 0; from < count; from += STEP)
		await client.query({
			name: 'bench-append',
			text: APPEND,
			values: [from, Math.min(count, from + STEP) - 1, count, ...columnsOf(queues), subject, html],
		});
}

/** Fills a database that nobody uses yet, however long it takes, and leaves it as a database that has been in use: vacuumed, with statistics, all of it on disk. */
export async function fillQueue(url: string, queues: readonly QueueOf[], count: number): Promise<void> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		await client.query('set synchronous_commit = off');
		await appendMails(client, queues, count);
		await client.query('vacuum analyze');
		await client.query('checkpoint');
	} finally {
		await client.end();
	}
}

function columnsOf(queues: readonly QueueOf[]): string[][] {
	return [queues.map((one) => one.tenantId), queues.map((one) => one.configId), queues.map((one) => one.flowId)];
}

const APPEND = `
	with i as materialized (
		select g, uuid_v7() as id, ($4::uuid[])[n] as tenant_id, ($5::uuid[])[n] as config_id, ($6::bigint[])[n] as flow_id,
			now() - make_interval(secs => ($3 - g) / 1000.0) as due_at, replace(gen_random_uuid()::text, '-', '') as trace_id
		from generate_series($1::int, $2::int) g cross join lateral (select g % cardinality($4::uuid[]) + 1 as n) as turn
	),
	record as (
		insert into send_record (id, tenant_id, channel, route, lane, type, scope, config_id, config_tier, flow_id, trace_id, traceparent)
		select id, tenant_id, 'MAIL', 'mail-send', 'normal', 'mail', 'TENANT', config_id, 'TENANT', flow_id, trace_id, '00-' || trace_id || '-0000000000000001-01' from i
	),
	state as (
		insert into send_state (id, tenant_id, status, budget_max, due_at, not_after)
		select id, tenant_id, 'PENDING', 5, due_at, due_at + interval '72 h' from i
	),
	payload as (
		insert into send_payload (id, tenant_id, subject, body_html, from_address, from_name)
		select id, tenant_id, replace($7, 'A-0', 'A-' || g), replace($8, 'A-0', 'A-' || g), 'shop@example.com', 'Shop' from i
	),
	recipient as (
		insert into send_recipient (id, n, tenant_id, role, address, address_hash)
		select id, 0, tenant_id, 'to', 'ann' || g || '@example.com', sha256(convert_to('ann' || g || '@example.com', 'UTF8')) from i
	)
	insert into outbox_entry (id, tenant_id, route, lane, gate, flow_id, due_at, trace_id, traceparent)
	select id, tenant_id, 'mail-send', 'normal', config_id, flow_id, due_at, trace_id, '00-' || trace_id || '-0000000000000001-01' from i`;
