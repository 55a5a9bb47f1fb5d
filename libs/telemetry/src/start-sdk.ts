import { context, diag, propagation, trace } from '@opentelemetry/api';
import { NodeSDK, resources } from '@opentelemetry/sdk-node';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import { createDiagLog, diagLevelOf } from './diag-log.js';
import type { Logger } from './log.js';

/** What the SDK is started with. */
export type SdkOptions = { readonly service: string; readonly version: string; readonly log: Logger; readonly logLevel: string | null };

/**
 * Starts the OpenTelemetry SDK for traces; exporter, sampler and resource come from `OTEL_*`, which go before what is given here. Returns what flushes and ends it.
 * Loading this file costs some 0.4 s and 40 MB: only who exports does.
 */
export function startSdk({ service, version, log, logLevel }: SdkOptions): () => Promise<void> {
	const diagLog = createDiagLog(log);
	const hear = () => diag.setLogger(diagLog, { logLevel: diagLevelOf(logLevel), suppressOverrideMessage: true });
	hear();
	const sdk = new NodeSDK({
		resource: resources.resourceFromAttributes({ [ATTR_SERVICE_NAME]: `tidings-${service}`, [ATTR_SERVICE_VERSION]: version }),
		// Metrics are scraped and logs are lines of ours: only traces go this way.
		metricReaders: [],
		logRecordProcessors: [],
	});
	// With OTEL_LOG_LEVEL the SDK has just put its own logger in place, which writes past ours.
	if (logLevel !== null) hear();
	sdk.start();
	return async () => {
		for (const global of [trace, context, propagation]) global.disable();
		await sdk.shutdown().finally(() => diag.disable());
	};
}
