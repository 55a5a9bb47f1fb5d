import {
	CATEGORIES,
	CHANNELS,
	DEAD_LETTER_SOURCES,
	ERRORS,
	type ErrorCode,
	LANES,
	OUTBOX_STATUSES,
	ROUTES,
	SEND_STATUSES,
} from '@tidings/model';
import type { MetricRow } from './metric-row.js';

/** A channel as a label value. */
export type ChannelLabel = Lowercase<(typeof CHANNELS)[number]>;
const CHANNEL_LABELS = CHANNELS.map((channel) => channel.toLowerCase() as ChannelLabel);
const ROUTE_LABELS = ROUTES.map((row) => row.route);
const REASON_LABELS = Object.keys(ERRORS) as ErrorCode[];
const SCOPE_LABELS = ['TENANT', 'PLATFORM'] as const;
const PROVIDER_LABELS = ['smtp'] as const;

/** What `/readyz` can ask about: a part of this name reports to `dependency_up`. */
export const DEPENDENCIES = ['postgres', 'broker'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** 1 ms to 5 s: our own statements and calls. */
const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
/** 10 ms to 120 s: a provider's time. */
const PROVIDER = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const;
/** 50 ms to 24 h: end to end. */
const END_TO_END = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 43200, 86400] as const;

const RESCUES = [
	...['RETRY', 'DEAD_LETTER', 'HELD', 'EXPIRED'].map((to) => ({ kind: 'record', to })),
	{ kind: 'outbox', to: 'NEW' },
	{ kind: 'undelivered', to: 'NEW' },
];

/** Every metric of the mesh. The key is the instrument's name in code: the metric's, without prefix, in camelCase. */
export const METRICS = {
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
	outboxEntries: {
		name: 'tidings_outbox_entries',
		type: 'gauge',
		unit: 'rows',
		help: 'Outbox rows that wait, are being published, or were refused by the broker',
		labels: { route: ROUTE_LABELS, status: OUTBOX_STATUSES.filter((status) => status !== 'PUBLISHED') },
		measured: true,
	},
	outboxOldestDueAgeSeconds: {
		name: 'tidings_outbox_oldest_due_age_seconds',
		type: 'gauge',
		unit: 'seconds',
		help: 'How long the oldest due outbox row has waited; 0 when none is due',
		labels: { route: ROUTE_LABELS },
		measured: true,
	},
	outboxLagSeconds: {
		name: 'tidings_outbox_lag_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From due to published',
		labels: { route: ROUTE_LABELS },
		buckets: END_TO_END,
	},
	outboxPublishDurationSeconds: {
		name: 'tidings_outbox_publish_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: "The broker's time to answer a publish",
		labels: { route: ROUTE_LABELS },
		buckets: FAST,
	},
	outboxPublishedTotal: {
		name: 'tidings_outbox_published_total',
		type: 'counter',
		unit: 'messages',
		help: 'Messages that the broker confirmed',
		labels: { route: ROUTE_LABELS, lane: LANES },
	},
	outboxPublishFailuresTotal: {
		name: 'tidings_outbox_publish_failures_total',
		type: 'counter',
		unit: 'messages',
		help: 'Messages that were not published: refused by the broker, broker away, or no such topic',
		labels: { route: ROUTE_LABELS, reason: ['refused', 'outage', 'no_topic'] },
	},
	brokerConnected: {
		name: 'tidings_broker_connected',
		type: 'gauge',
		unit: '0 or 1',
		help: '1 while the broker can be reached',
		labels: {},
		starts: [],
	},
	brokerBacklogMessages: {
		name: 'tidings_broker_backlog_messages',
		type: 'gauge',
		unit: 'messages',
		help: "The subscription's backlog as the broker tells it",
		labels: { route: ROUTE_LABELS, lane: LANES },
		measured: true,
	},
	messagesConsumedTotal: {
		name: 'tidings_messages_consumed_total',
		type: 'counter',
		unit: 'messages',
		help: 'Messages consumed, by how it ended; stale: there was nothing to claim',
		labels: { route: ROUTE_LABELS, lane: LANES, result: ['acked', 'nacked', 'stale', 'poison'] },
	},
	messagesInFlight: {
		name: 'tidings_messages_in_flight',
		type: 'gauge',
		unit: 'messages',
		help: 'Messages received and not yet acked',
		labels: { route: ROUTE_LABELS },
	},
	processDurationSeconds: {
		name: 'tidings_process_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From receiving a message to its ack',
		labels: { route: ROUTE_LABELS },
		buckets: PROVIDER,
	},
	claimDurationSeconds: {
		name: 'tidings_claim_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'One claiming statement or batch',
		labels: { channel: CHANNEL_LABELS },
		buckets: FAST,
	},
	settleDurationSeconds: {
		name: 'tidings_settle_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'One settling statement or batch',
		labels: { channel: CHANNEL_LABELS },
		buckets: FAST,
	},
	transitionsLostTotal: {
		name: 'tidings_transitions_lost_total',
		type: 'counter',
		unit: 'transitions',
		help: 'Compare-and-swaps that somebody else was quicker with, by the state that was expected',
		labels: { from: SEND_STATUSES, by: ['worker', 'sweeper', 'person'] },
	},
	attemptsTotal: {
		name: 'tidings_attempts_total',
		type: 'counter',
		unit: 'attempts',
		help: 'Attempts by how they ended',
		labels: {
			channel: CHANNEL_LABELS,
			provider: PROVIDER_LABELS,
			outcome: ['accepted', 'retry', 'failed', 'dead_letter', 'held'],
			category: ['none', ...CATEGORIES],
			ambiguous: ['false', 'true'],
		},
	},
	providerDurationSeconds: {
		name: 'tidings_provider_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'The provider call alone',
		labels: { channel: CHANNEL_LABELS, provider: PROVIDER_LABELS, outcome: ['accepted', 'refused', 'ambiguous', 'withheld'] },
		buckets: PROVIDER,
	},
	acceptToSentSeconds: {
		name: 'tidings_accept_to_sent_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From acceptance to SENT',
		labels: { channel: CHANNEL_LABELS, lane: LANES },
		buckets: END_TO_END,
	},
	attemptsPerRecord: {
		name: 'tidings_attempts_per_record',
		type: 'histogram',
		unit: 'attempts',
		help: 'Attempts that a record took until its end',
		labels: { channel: CHANNEL_LABELS, outcome: ['sent', 'failed', 'dead_letter', 'cancelled', 'expired'] },
		buckets: [1, 2, 3, 4, 5, 6, 8, 10],
	},
	sweeperRescuesTotal: {
		name: 'tidings_sweeper_rescues_total',
		type: 'counter',
		unit: 'rows',
		help: 'Leases that ran out, messages that got lost and records that came too late, by where they were put',
		labels: { kind: ['record', 'outbox', 'undelivered'], to: ['RETRY', 'DEAD_LETTER', 'HELD', 'EXPIRED', 'NEW'] },
		starts: RESCUES,
	},
	sweepLastSuccessTimestampSeconds: {
		name: 'tidings_sweep_last_success_timestamp_seconds',
		type: 'gauge',
		unit: 'seconds since 1970',
		help: 'When this kind of sweep last ended well',
		labels: { kind: ['record', 'outbox', 'undelivered'] },
		measured: true,
	},
	deadLettersTotal: {
		name: 'tidings_dead_letters_total',
		type: 'counter',
		unit: 'letters',
		help: 'Dead letters opened',
		labels: { source: DEAD_LETTER_SOURCES, channel: CHANNEL_LABELS },
	},
	deadLettersOpen: {
		name: 'tidings_dead_letters_open',
		type: 'gauge',
		unit: 'letters',
		help: 'Dead letters that wait for a person',
		labels: { source: DEAD_LETTER_SOURCES },
		measured: true,
	},
	deadLettersOldestAgeSeconds: {
		name: 'tidings_dead_letters_oldest_age_seconds',
		type: 'gauge',
		unit: 'seconds',
		help: 'How long the oldest open dead letter has waited; 0 when there is none',
		labels: { source: DEAD_LETTER_SOURCES },
		measured: true,
	},
	httpRequestDurationSeconds: {
		name: 'tidings_http_request_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From a request to the end of its answer; route is the pattern, never the path',
		labels: { method: null, route: null, status: null },
		buckets: FAST,
	},
	dbPoolConnections: {
		name: 'tidings_db_pool_connections',
		type: 'gauge',
		unit: 'connections',
		help: 'Connections of the database pool; waiting: callers without one',
		labels: { state: ['idle', 'busy', 'waiting'] },
	},
	dependencyUp: {
		name: 'tidings_dependency_up',
		type: 'gauge',
		unit: '0 or 1',
		help: 'What /readyz last saw of a dependency that this service needs',
		labels: { dependency: DEPENDENCIES },
		starts: [],
	},
	buildInfo: {
		name: 'tidings_build_info',
		type: 'gauge',
		unit: '1',
		help: 'Always 1; the labels say what is running',
		labels: { service: null, version: null, revision: null },
	},
} as const satisfies Record<string, MetricRow>;
export type MetricKey = keyof typeof METRICS;
