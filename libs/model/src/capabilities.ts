/** What a credential may do. */
export const CAPABILITIES = [
	'messages:send',
	'messages:read',
	'messages:act',
	'content:read',
	'templates:write',
	'providers:write',
	'dead-letters:triage',
	'outbox:requeue',
	'quota:read',
	'reports:create',
	'inbox:act-as',
	'callbacks:write',
	'tenant:admin',
	'platform',
] as const;
export type Capability = (typeof CAPABILITIES)[number];
