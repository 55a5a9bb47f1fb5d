import type { RetryPolicy } from '@tidings/model';
import { type Static, Type } from 'typebox';
import { RETRY_SETTINGS } from './settings.js';

const retrySchema = Type.Object(RETRY_SETTINGS);

/** The retry policy of each message type: the general settings, overridden field by field by TIDINGS_RETRY_TYPES. `null` is a message without a type. */
export function retryPolicies(settings: Static<typeof retrySchema>): (type: string | null) => RetryPolicy {
	const general: RetryPolicy = {
		maxAttempts: settings.TIDINGS_RETRY_MAX_ATTEMPTS,
		baseSeconds: settings.TIDINGS_RETRY_BASE_SECONDS,
		maxSeconds: settings.TIDINGS_RETRY_MAX_SECONDS,
		multiplier: settings.TIDINGS_RETRY_MULTIPLIER,
		jitter: settings.TIDINGS_RETRY_JITTER,
		quotaFloorSeconds: settings.TIDINGS_RETRY_QUOTA_FLOOR_SECONDS,
	};
	const byType = new Map(Object.entries(settings.TIDINGS_RETRY_TYPES).map(([type, override]) => [type, { ...general, ...override }]));
	return (type) => (type === null ? general : (byType.get(type) ?? general));
}
