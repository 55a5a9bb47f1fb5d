import type { MetricRow } from '../metric-row.js';
import { FAST } from './values.js';

/** What `/readyz` can ask about: a part of this name reports to `dependency_up`. */
export const DEPENDENCIES = ['postgres', 'broker', 'redis'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** What every process tells of itself. */
export const PROCESS_METRICS = {
	httpRequestDurationSeconds: {
		name: 'tidings_http_request_duration_seconds',
		type: 'histogram',
		unit: 'seconds',
		help: 'From a request to the end of its answer; route is the pattern, never the path',
		labels: { method: null, route: null, status: null },
		buckets: FAST,
	},
	apiThrottledTotal: {
		name: 'tidings_api_throttled_total',
		type: 'counter',
		unit: 'requests',
		help: 'Requests refused because their caller makes too many a second',
		labels: {},
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
