import { channelLabel, type Logger, type Metrics } from '@tidings/telemetry';
import type { QuotaWarning } from './accepting.js';

/** Tells the operator of quotas that are used up to a level; the audit has it already. */
export function tellWarnings(warnings: readonly QuotaWarning[], { log, metrics }: { log: Logger; metrics: Metrics }): void {
	for (const { level, ...quota } of warnings) {
		log.warn({ ...quota, percent: level }, level === 100 ? 'monthly quota used up' : 'monthly quota nearly used up');
		metrics.quotaWarningsTotal.inc({ channel: channelLabel(quota.channel), level: String(level) as `${typeof level}` });
	}
}
