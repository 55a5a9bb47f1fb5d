export { metricsTable } from './describe-metrics.js';
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from './log.js';
export { type MessagingStep, messagingAttributes } from './messaging-attributes.js';
export type { MetricRow } from './metric-row.js';
export { DEPENDENCIES, type Dependency } from './metrics/process.js';
export { type Counter, channelLabel, createMetrics, type Gauge, type Histogram, type Metrics } from './metrics.js';
export { METRICS, type MetricKey } from './metrics-table.js';
export { currentSpan, detached, isTracing, type Span, type SpanAttributes, type SpanOptions, startSpan } from './span.js';
export { type TracingOptions, tracingPart } from './tracing-part.js';
