import { expect, test } from '@jest/globals';
import { metricsTable } from './describe-metrics.js';
import type { MetricRow } from './metric-row.js';
import { channelLabel, createMetrics } from './metrics.js';
import { METRICS } from './metrics-table.js';

const make = () => createMetrics({ service: 'demo', version: '1.2.3', processMetrics: false });
const rows = Object.entries<MetricRow>(METRICS);

test('what a service does not measure is absent there, and is 0 where it is measured and nothing was found', async () => {
	const metrics = make();
	const dead = 'tidings_outbox_entries{route="mail-send",status="DEAD"} 0';
	expect(await metrics.registry.metrics()).not.toContain('tidings_outbox_entries{');
	metrics.zero('outboxEntries');
	expect(await metrics.registry.metrics()).toContain(dead);
});

test('each instrument is its metric without prefix, in camelCase', () => {
	for (const [key, row] of rows)
		expect(key).toBe(row.name.replace('tidings_', '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
});

test('counters end in _total, times in _seconds, and only histograms have buckets, rising', () => {
	for (const [, row] of rows) {
		expect(row.name.endsWith('_total')).toBe(row.type === 'counter');
		if (row.unit === 'seconds') expect(row.name).toMatch(/_seconds$/);
		expect(row.buckets !== undefined).toBe(row.type === 'histogram');
		expect([...(row.buckets ?? [])].sort((a, b) => a - b)).toEqual(row.buckets ?? []);
	}
});

test('no label can hold a tenant, a config or a message', () => {
	const labels = new Set(rows.flatMap(([, row]) => Object.keys(row.labels)));
	for (const label of labels) expect(label).not.toMatch(/tenant|config|template|recipient|message|id$/i);
});

test('known label sets are there with 0 before anything happens', async () => {
	const text = await make().registry.metrics();
	expect(text).toContain('tidings_records_accepted_total{channel="mail",lane="urgent",scope="TENANT"} 0');
	expect(text).toContain('tidings_accept_duration_seconds_count{kind="batch"} 0');
	expect(text).toContain('tidings_sweeper_rescues_total{kind="outbox",to="NEW"} 0');
	expect(text).not.toContain('kind="outbox",to="HELD"');
	expect(text).toContain('tidings_idempotent_replays_total 0');
	expect(text).toContain('tidings_build_info{service="demo",version="1.2.3",revision="unknown"} 1');
});

test('what a service does not look at is absent, not down', async () => {
	const metrics = make();
	expect(await metrics.registry.metrics()).not.toMatch(/^tidings_(broker_connected|dependency_up)[ {]/m);
	metrics.brokerConnected.set(1);
	metrics.dependencyUp.set({ dependency: 'postgres' }, 0);
	const text = await metrics.registry.metrics();
	expect(text).toContain('tidings_broker_connected 1');
	expect(text).toContain('tidings_dependency_up{dependency="postgres"} 0');
});

test('instruments with and without labels record', async () => {
	const metrics = make();
	metrics.idempotentReplaysTotal.inc();
	metrics.idempotentReplaysTotal.inc(2);
	metrics.acceptBatchRecords.observe(40);
	metrics.recordsAcceptedTotal.inc({ channel: channelLabel('MAIL'), lane: 'bulk', scope: 'PLATFORM' }, 5);
	metrics.httpRequestDurationSeconds.observe({ method: 'POST', route: '/v1/mails', status: 202 }, 0.004);
	const text = await metrics.registry.metrics();
	expect(text).toContain('tidings_idempotent_replays_total 3');
	expect(text).toContain('tidings_accept_batch_records_bucket{le="50"} 1');
	expect(text).toContain('tidings_records_accepted_total{channel="mail",lane="bulk",scope="PLATFORM"} 5');
	expect(text).toContain('tidings_http_request_duration_seconds_count{method="POST",route="/v1/mails",status="202"} 1');
});

test('zero takes a gauge back to 0 for every known label set', async () => {
	const metrics = make();
	metrics.records.set({ channel: 'mail', status: 'RETRY' }, 7);
	metrics.zero('records');
	expect(await metrics.registry.metrics()).toContain('tidings_records{channel="mail",status="RETRY"} 0');
});

test('process metrics are there by default, and two services keep apart', async () => {
	const one = createMetrics({ service: 'one', version: '1' });
	const two = make();
	one.idempotentReplaysTotal.inc();
	const text = await one.registry.metrics();
	expect(text).toMatch(/^process_cpu_seconds_total /m);
	expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
	expect(await two.registry.metrics()).toContain('tidings_idempotent_replays_total 0');
});

test('the table names every metric once', () => {
	const table = metricsTable();
	for (const [, row] of rows) expect(table.split(`\`${row.name}\``)).toHaveLength(2);
	expect(table).toContain('| route (mail-send); lane (urgent, normal, bulk) |');
	expect(table.trim().split('\n')).toHaveLength(rows.length + 2);
});
