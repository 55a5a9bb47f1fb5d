import { ERRORS, type ErrorCode, LANES, QUOTA_CHANNELS, QUOTA_LEVELS } from '@tidings/model';
import type { MetricRow } from '../metric-row.js';
import { CHANNEL_LABELS, FAST, ROUTE_LABELS } from './values.js';

const REASON_LABELS = Object.keys(ERRORS) as ErrorCode[];
const SCOPE_LABELS = ['TENANT', 'PLATFORM'] as const;
const QUOTA_CHANNEL_LABELS = QUOTA_CHANNELS.map((channel) => channel.toLowerCase() as Lowercase<typeof channel>);
const LEVEL_LABELS = QUOTA_LEVELS.map((level) => String(level) as `${typeof level}`);

/** From a request to a record that waits for its sender. */
export const ACCEPTING_METRICS = {
	recordsAcceptedTotal: {
		name: 'tidings_records_accepted_total',
		type: 'counter',
		unit: 'records',
		help: 'Records committed with their outbox rows',
		labels: { channel: CHANNEL_LABELS, lane: LANES, scope: SCOPE_LABELS },
	},
	acceptRefusalsTotal: {
		name: 'tidings_accept_refusals_total',
		type: 'counter',
		unit: 'requests',
		help: 'Submitting requests refused, by problem code',
		labels: { reason: REASON_LABELS },
	},
	acceptDurationSeconds: {
		name: 'tidings_accept_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From a submitting request to its commit',
		labels: { kind: ['one', 'batch'] },
		buckets: FAST,
	},
	acceptBatchRecords: {
		name: 'tidings_accept_batch_records',
		type: 'histogram',
		unit: 'records',
		help: 'Records per accepting transaction',
		labels: {},
		buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000],
	},
	quotaRefusalsTotal: {
		name: 'tidings_quota_refusals_total',
		type: 'counter',
		unit: 'requests',
		help: "Submitting requests refused because they are over a monthly quota; PLATFORM: the platform's own",
		labels: { channel: QUOTA_CHANNEL_LABELS, scope: SCOPE_LABELS },
	},
	quotaWarningsTotal: {
		name: 'tidings_quota_warnings_total',
		type: 'counter',
		unit: 'quotas',
		help: 'Monthly quotas used up to a level, in percent; once for each quota, month and level',
		labels: { channel: QUOTA_CHANNEL_LABELS, level: LEVEL_LABELS },
	},
	idempotentReplaysTotal: {
		name: 'tidings_idempotent_replays_total',
		type: 'counter',
		unit: 'requests',
		help: 'Requests answered with what an earlier request of the same Idempotency-Key made',
		labels: {},
	},
	records: {
		name: 'tidings_records',
		type: 'gauge',
		unit: 'records',
		help: 'Records that are not finished',
		labels: { channel: CHANNEL_LABELS, status: ['PENDING', 'RETRY', 'SENDING', 'HELD'] },
		measured: true,
	},
	queueOldestAgeSeconds: {
		name: 'tidings_queue_oldest_age_seconds',
		type: 'gauge',
		unit: 'seconds',
		help: 'How long the oldest due record has waited for a sender, wherever its message is; 0 when none is due',
		labels: { route: ROUTE_LABELS, lane: LANES },
		measured: true,
	},
} as const satisfies Record<string, MetricRow>;
