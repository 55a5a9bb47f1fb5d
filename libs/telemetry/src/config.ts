import { readFileSync } from 'node:fs';

type Environment = Record<string, string | undefined>;

/** What the `OTEL_*` variables ask of tracing here; the OpenTelemetry SDK reads the rest of them by itself. */
export type TracingSettings = {
	/** Whether there is anywhere to send spans to. */
	readonly exports: boolean;
	/** OpenTelemetry's own level for what it says about itself: `OTEL_LOG_LEVEL`, in lower case; null when that is not set. */
	readonly logLevel: string | null;
};

/** Files that OpenTelemetry itself names so. */
const NO_VALUES = ['OTEL_CONFIG_FILE', 'OTEL_EXPERIMENTAL_CONFIG_FILE'];

/**
 * Reads the `OTEL_*` variables, as OpenTelemetry defines them: an exporter or an endpoint for traces switches tracing on; `OTEL_SDK_DISABLED=true` and
 * `OTEL_TRACES_EXPORTER=none` switch it off. A variable that is given as a file (`OTEL_EXPORTER_OTLP_HEADERS_FILE`) is put where the SDK looks for it.
 * Throws, with the name of the variable, when such a file cannot be read.
 */
export function readTracingSettings(env: Environment = process.env): TracingSettings {
	for (const [name, file] of Object.entries(env)) {
		if (!/^OTEL_\w+_FILE$/.test(name) || NO_VALUES.includes(name) || isEmpty(file)) continue;
		try {
			env[name.slice(0, -'_FILE'.length)] = readFileSync(file.trim(), 'utf8').trim();
		} catch (cause) {
			throw new Error(`${name} cannot be read`, { cause });
		}
	}
	const logLevel = env['OTEL_LOG_LEVEL'];
	return { exports: exportsTraces(env), logLevel: isEmpty(logLevel) ? null : logLevel.trim().toLowerCase() };
}

function exportsTraces(env: Environment): boolean {
	if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
	const exporters = env['OTEL_TRACES_EXPORTER'];
	if (!isEmpty(exporters)) return !exporters.split(',').some((name) => name.trim() === 'none');
	return !isEmpty(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) || !isEmpty(env['OTEL_EXPORTER_OTLP_ENDPOINT']);
}

function isEmpty(text: string | undefined): text is undefined | '' {
	return text === undefined || text.trim() === '';
}
