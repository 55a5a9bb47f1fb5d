import { DEAD_LETTER_SOURCES } from '@tidings/model';
import type { MetricRow } from '../metric-row.js';
import { CHANNEL_LABELS } from './values.js';

const RESCUES = [
	...['RETRY', 'DEAD_LETTER', 'HELD', 'EXPIRED'].map((to) => ({ kind: 'record', to })),
	{ kind: 'outbox', to: 'NEW' },
	{ kind: 'undelivered', to: 'NEW' },
];

/** What got stuck, and what waits for a person. */
export const RESCUING_METRICS = {
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
	deadLetterActionsTotal: {
		name: 'tidings_dead_letter_actions_total',
		type: 'counter',
		unit: 'letters',
		help: 'What people did with dead letters, one by one or many by a replay; refused: the letter was closed already, or its message cannot be sent again; failed: something went wrong',
		labels: { action: ['resolve', 'discard', 'replay'], result: ['done', 'refused', 'failed'] },
	},
	deadLetterReplaysRunning: {
		name: 'tidings_dead_letter_replays_running',
		type: 'gauge',
		unit: 'replays',
		help: 'Replays of many letters that are not done',
		labels: {},
		measured: true,
	},
	deadLetterAlertsTotal: {
		name: 'tidings_dead_letter_alerts_total',
		type: 'counter',
		unit: 'mails',
		help: 'Mails accepted that tell operators of dead letters',
		labels: { source: DEAD_LETTER_SOURCES },
	},
} as const satisfies Record<string, MetricRow>;
