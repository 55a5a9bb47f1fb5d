import { LANES, OUTBOX_STATUSES } from '@tidings/model';
import type { MetricRow } from '../metric-row.js';
import { CHANNEL_LABELS, END_TO_END, FAST, GATE_REASON_LABELS, PROVIDER_LABELS, ROUTE_LABELS } from './values.js';

/** The outbox and the broker. */
export const PUBLISHING_METRICS = {
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
	gates: {
		name: 'tidings_gates',
		type: 'gauge',
		unit: 'gates',
		help: 'Provider configs by how their gate stands and, when it is closed, why',
		labels: { channel: CHANNEL_LABELS, provider: PROVIDER_LABELS, state: ['open', 'half_open', 'closed'], reason: GATE_REASON_LABELS },
		measured: true,
	},
	routePaused: {
		name: 'tidings_route_paused',
		type: 'gauge',
		unit: '0 or 1',
		help: 'Whether a person has paused a kind of work for all tenants',
		labels: { route: ROUTE_LABELS },
		measured: true,
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
} as const satisfies Record<string, MetricRow>;
