export { cannotStart } from './cannot-start.js';
export { loadConfig } from './config.js';
export { type AdminServer, createAdminServer } from './health.js';
export * from './http/index.js';
export { JWT_RULES, JWT_SETTINGS, jwtOptionsOf } from './jwt-settings.js';
export { checkOutboundHost, type OutboundAddress, type OutboundHost, type OutboundHostOptions } from './outbound-host.js';
export { type ParsedSettings, parseSettings, type SettingsRule } from './parse-settings.js';
export type { Part, Phase, RunningParts } from './part.js';
export { createPoll, type Poll, type PollOptions } from './poll.js';
export type { ConfigOptions } from './read-config.js';
export { retryPolicies } from './retry-policies.js';
export { runService, type ServiceOptions } from './service.js';
export {
	BROKER_RULES,
	BROKER_SETTINGS,
	brokerOptions,
	monthlyCaps,
	QUOTA_SETTINGS,
	REDIS_RULES,
	RETRY_OVERRIDE,
	RETRY_SETTINGS,
	SERVICE_SETTINGS,
	SETTINGS,
} from './settings.js';
export { settingsHelp, settingsTable } from './settings-help.js';
export { StartFailure, startParts } from './start-parts.js';
export { type StopReport, stopParts } from './stop-parts.js';
