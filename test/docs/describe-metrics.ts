import { metricsTable } from '@tidings/telemetry';

/** The page of every metric. */
export function describeMetrics(): string {
	return `# Metrics

Each service answers \`/metrics\` on its admin port in the Prometheus text format. Besides these there are prom-client's \`process_*\` and \`nodejs_*\`.
No label names a tenant, a config, a template, a recipient or a message.

${metricsTable()}`;
}
