import type { MetricRow } from './metric-row.js';
import { ACCEPTING_METRICS } from './metrics/accepting.js';
import { PROCESS_METRICS } from './metrics/process.js';
import { PUBLISHING_METRICS } from './metrics/publishing.js';
import { RESCUING_METRICS } from './metrics/rescuing.js';
import { SENDING_METRICS } from './metrics/sending.js';

/** Every metric of the mesh. The key is the instrument's name in code: the metric's, without prefix, in camelCase. */
export const METRICS = {
	...ACCEPTING_METRICS,
	...PUBLISHING_METRICS,
	...SENDING_METRICS,
	...RESCUING_METRICS,
	...PROCESS_METRICS,
} as const satisfies Record<string, MetricRow>;
export type MetricKey = keyof typeof METRICS;
