import type { Channel, QuotaChannel } from '@tidings/model';
import { collectDefaultMetrics, Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client';
import type { MetricRow } from './metric-row.js';
import { METRICS, type MetricKey } from './metrics-table.js';

type LabelValue<Values> = Values extends readonly (infer Value)[] ? Value : string | number;
type LabelsOf<Row extends MetricRow> = { readonly [Label in keyof Row['labels']]: LabelValue<Row['labels'][Label]> };
/** Arguments of an instrument: its labels first, if it has any, then what is given here. */
type With<Labels, Rest extends readonly unknown[]> = keyof Labels extends never ? Rest : [labels: Labels, ...Rest];

/** Counts up. */
export type Counter<Labels> = { inc(...args: With<Labels, [by?: number]>): void };
/** A value that goes up and down. */
export type Gauge<Labels> = {
	set(...args: With<Labels, [value: number]>): void;
	inc(...args: With<Labels, [by?: number]>): void;
	dec(...args: With<Labels, [by?: number]>): void;
};
/** A distribution over the row's buckets. */
export type Histogram<Labels> = { observe(...args: With<Labels, [value: number]>): void };

type InstrumentOf<Row extends MetricRow> = Row['type'] extends 'counter'
	? Counter<LabelsOf<Row>>
	: Row['type'] extends 'gauge'
		? Gauge<LabelsOf<Row>>
		: Histogram<LabelsOf<Row>>;
type Instruments = { readonly [Key in MetricKey]: InstrumentOf<(typeof METRICS)[Key]> };
type GaugeKey = { [Key in MetricKey]: (typeof METRICS)[Key]['type'] extends 'gauge' ? Key : never }[MetricKey];

/** Every instrument by the key of its row in `METRICS`, and what the admin port needs. */
export type Metrics = Instruments & {
	/** What `/metrics` prints. */
	readonly registry: Registry;
	/** Sets every known label set of a gauge to 0, before the rows of a grouping query are set: groups without a row are 0. */
	zero(gauge: GaugeKey): void;
};

/**
 * Makes the instruments of one process, with known label sets at 0, in a registry of their own.
 * `revision`: the source revision of the build, default `unknown`. `processMetrics`: also prom-client's `process_*` and `nodejs_*`, default true;
 * they hold no timer that keeps a process alive.
 */
export function createMetrics(options: { service: string; version: string; revision?: string; processMetrics?: boolean }): Metrics {
	const registry = new Registry();
	const made = new Map<string, PromInstrument>();
	for (const [key, row] of Object.entries<MetricRow>(METRICS)) made.set(key, createInstrument(row, registry));
	const zero = (key: GaugeKey): void => zeroKnown(made.get(key), METRICS[key]);
	const metrics = { ...Object.fromEntries(made), registry, zero } as unknown as Metrics;
	metrics.buildInfo.set({ service: options.service, version: options.version, revision: options.revision ?? 'unknown' }, 1);
	if (options.processMetrics !== false) collectProcess(registry);
	return metrics;
}

/** Gauges of prom-client that are named like counters; each is the sum of a metric that stays. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

function collectProcess(register: Registry): void {
	collectDefaultMetrics({ register });
	for (const name of MISNAMED) register.removeSingleMetric(name);
}

/** A channel as the label value of its metrics. */
export function channelLabel<C extends Channel | QuotaChannel>(channel: C): Lowercase<C> {
	return channel.toLowerCase() as Lowercase<C>;
}

type PromInstrument = PromCounter<string> | PromGauge<string> | PromHistogram<string>;

function createInstrument(row: MetricRow, registry: Registry): PromInstrument {
	const config = { name: row.name, help: row.help, labelNames: Object.keys(row.labels), registers: [registry] };
	const instrument =
		row.type === 'counter'
			? new PromCounter(config)
			: row.type === 'gauge'
				? new PromGauge(config)
				: new PromHistogram({ ...config, buckets: [...(row.buckets ?? [])] });
	if (row.measured === true || (row.starts?.length === 0 && config.labelNames.length === 0)) instrument.remove({});
	else zeroKnown(instrument, row);
	return instrument;
}

function zeroKnown(instrument: PromInstrument | undefined, row: MetricRow): void {
	for (const labels of row.starts ?? combinations(row.labels)) {
		if (instrument instanceof PromHistogram) instrument.zero(labels);
		else if (instrument instanceof PromGauge) instrument.set(labels, 0);
		else instrument?.inc(labels, 0);
	}
}

/** Every combination of the values; none when a label is open. */
function combinations(labels: MetricRow['labels']): Record<string, string>[] {
	let sets: Record<string, string>[] = [{}];
	for (const [label, values] of Object.entries(labels)) {
		sets = sets.flatMap((set) => (values ?? []).map((value) => ({ ...set, [label]: value })));
	}
	return sets;
}
