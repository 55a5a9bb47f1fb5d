import { CATEGORIES, LANES, SEND_STATUSES } from '@tidings/model';
import type { MetricRow } from '../metric-row.js';
import { CHANNEL_LABELS, END_TO_END, FAST, GATE_REASON_LABELS, PROVIDER_LABELS, ROUTE_LABELS } from './values.js';

/** 10 ms to 120 s: a provider's time. */
const PROVIDER = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const;

/** From a message of the broker to the end of its record. */
export const SENDING_METRICS = {
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
	rateLimitDenialsTotal: {
		name: 'tidings_rate_limit_denials_total',
		type: 'counter',
		unit: 'messages',
		help: 'Sends put off because a rate window of their provider config was full; nothing is burnt',
		labels: { channel: CHANNEL_LABELS, window: ['min', 'daily'] },
	},
	gateChangesTotal: {
		name: 'tidings_gate_changes_total',
		type: 'counter',
		unit: 'changes',
		help: 'Gates of provider configs that a sender closed or opened, by the reason for which they were closed',
		labels: { channel: CHANNEL_LABELS, provider: PROVIDER_LABELS, state: ['open', 'closed'], reason: GATE_REASON_LABELS },
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
} as const satisfies Record<string, MetricRow>;
