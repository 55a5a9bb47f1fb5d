import type { MetricRow } from './metric-row.js';
import { METRICS } from './metrics-table.js';

/** Every metric as one Markdown table, in the order of the declaration: the body of docs/metrics.md. */
export function metricsTable(): string {
	const rows = Object.values<MetricRow>(METRICS).map(
		(row) => `| \`${row.name}\` | ${row.type} | ${row.unit} | ${labels(row)} | ${row.help}${buckets(row)} |`,
	);
	return ['| name | type | unit | labels | meaning |', '|---|---|---|---|---|', ...rows, ''].join('\n');
}

function labels(row: MetricRow): string {
	const each = Object.entries(row.labels).map(([label, values]) => (values === null ? label : `${label} (${values.join(', ')})`));
	return each.length === 0 ? '–' : each.join('; ');
}

function buckets(row: MetricRow): string {
	return row.buckets === undefined ? '' : `. Buckets: ${row.buckets.join(', ')}`;
}
