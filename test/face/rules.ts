import type { Capability, ErrorCode } from '@tidings/model';

/**
 * What kind of operation it is: `open` to all; a `list`; something to be made (`make`), or submitted (`submit`); one thing (`one`), or one thing through which something is
 * submitted (`submit by`). `tenants` and `tenant` are the operator's: they know no other tenant's things.
 */
type Kind = 'open' | 'list' | 'make' | 'submit' | 'one' | 'submit by' | 'tenants' | 'tenant';

/** An operation: its kind, the capability that it needs, and the status of its success. */
export type Row = { readonly kind: Kind; readonly needs: Capability | null; readonly success: number };

/** Every operation of the document by its operationId. */
export const ROWS: Readonly<Record<string, Row>> = {
	getOpenApi: { kind: 'open', needs: null, success: 200 },
	sendMail: { kind: 'submit', needs: 'messages:send', success: 202 },
	sendMails: { kind: 'submit', needs: 'messages:send', success: 202 },
	listMessages: { kind: 'list', needs: 'messages:read', success: 200 },
	getMessage: { kind: 'one', needs: 'messages:read', success: 200 },
	listAttempts: { kind: 'one', needs: 'messages:read', success: 200 },
	getTimeline: { kind: 'one', needs: 'messages:read', success: 200 },
	getContent: { kind: 'one', needs: 'content:read', success: 200 },
	cancelMessage: { kind: 'one', needs: 'messages:act', success: 200 },
	retryMessage: { kind: 'one', needs: 'messages:act', success: 200 },
	releaseMessage: { kind: 'one', needs: 'messages:act', success: 200 },
	listDeadLetters: { kind: 'list', needs: 'dead-letters:triage', success: 200 },
	getDeadLetter: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	resolveDeadLetter: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	discardDeadLetter: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	replayDeadLetter: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	startDeadLetterReplay: { kind: 'make', needs: 'dead-letters:triage', success: 202 },
	listDeadLetterReplays: { kind: 'list', needs: 'dead-letters:triage', success: 200 },
	getDeadLetterReplay: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	stopDeadLetterReplay: { kind: 'one', needs: 'dead-letters:triage', success: 200 },
	getStats: { kind: 'list', needs: 'messages:read', success: 200 },
	createMailServer: { kind: 'make', needs: 'providers:write', success: 201 },
	listMailServers: { kind: 'list', needs: 'providers:write', success: 200 },
	getMailServer: { kind: 'one', needs: 'providers:write', success: 200 },
	changeMailServer: { kind: 'one', needs: 'providers:write', success: 200 },
	deleteMailServer: { kind: 'one', needs: 'providers:write', success: 204 },
	testMailServer: { kind: 'submit by', needs: 'providers:write', success: 202 },
	getMailServerState: { kind: 'one', needs: 'providers:write', success: 200 },
	pauseMailServer: { kind: 'one', needs: 'providers:write', success: 200 },
	resumeMailServer: { kind: 'one', needs: 'providers:write', success: 200 },
	listRoutes: { kind: 'tenants', needs: 'platform', success: 200 },
	pauseMailSend: { kind: 'tenants', needs: 'platform', success: 200 },
	resumeMailSend: { kind: 'tenants', needs: 'platform', success: 200 },
	createTenant: { kind: 'tenants', needs: 'platform', success: 201 },
	listTenants: { kind: 'tenants', needs: 'platform', success: 200 },
	getTenant: { kind: 'tenant', needs: 'platform', success: 200 },
	changeTenant: { kind: 'tenant', needs: 'platform', success: 200 },
	deleteTenant: { kind: 'tenant', needs: 'platform', success: 202 },
	suspendTenant: { kind: 'tenant', needs: 'platform', success: 200 },
	resumeTenant: { kind: 'tenant', needs: 'platform', success: 200 },
	getQuotaUsage: { kind: 'list', needs: 'quota:read', success: 200 },
	getQuota: { kind: 'tenant', needs: 'platform', success: 200 },
	setQuota: { kind: 'tenant', needs: 'platform', success: 200 },
	createApiKey: { kind: 'make', needs: 'tenant:admin', success: 201 },
	listApiKeys: { kind: 'list', needs: 'tenant:admin', success: 200 },
	getApiKey: { kind: 'one', needs: 'tenant:admin', success: 200 },
	revokeApiKey: { kind: 'one', needs: 'tenant:admin', success: 200 },
	rotateApiKey: { kind: 'one', needs: 'tenant:admin', success: 201 },
	listAuditEvents: { kind: 'list', needs: 'tenant:admin', success: 200 },
	listOutboxEntries: { kind: 'list', needs: 'outbox:requeue', success: 200 },
	requeueOutboxEntry: { kind: 'one', needs: 'outbox:requeue', success: 200 },
};

/** What becomes of a call: it succeeds, or it is refused with a code; `names`: what the detail must name. */
export type Expected = { readonly code: ErrorCode | null; readonly names?: string };

/** How a caller stands to the operation: what it shows, whose it is, and in which state that tenant is. */
export type Standing =
	/** Shows nothing. */
	| 'nobody'
	/** Shows what is no credential, or none any more. */
	| 'stranger'
	/** Of the tenant whose things are named, with all that is needed. */
	| 'owner'
	/** As an owner, but the capability that is needed is the one that it lacks. */
	| 'lacking'
	/** Of another tenant, with every capability but `platform`. */
	| 'other'
	/** The operator, for its own tenant. */
	| 'operator'
	/** The operator, for the tenant whose things are named. */
	| 'operator for the owner'
	/** The operator, for a tenant that is not there. */
	| 'operator for nobody'
	/** An owner without `platform` who names a tenant. */
	| 'owner who names a tenant'
	/** An owner whose tenant is suspended, or is being deleted. */
	| 'halted owner';

const SUCCESS: Expected = { code: null };
const GONE: Expected = { code: 'not-found' };

/** What a kind of operation answers to a caller, without exceptions. */
export function ruleOf({ kind, needs }: Row, standing: Standing): Expected {
	if (kind === 'open') return SUCCESS;
	const isOperators = kind === 'tenants' || kind === 'tenant';
	switch (standing) {
		case 'nobody':
			return { code: 'credential-missing' };
		case 'stranger':
			return { code: 'credential-refused' };
		case 'lacking':
			return { code: 'capability-missing', names: `\`${needs ?? ''}\`` };
		case 'owner who names a tenant':
			return { code: 'capability-missing', names: '`platform`' };
		case 'operator for nobody':
			return GONE;
		case 'owner':
		case 'operator for the owner':
			return SUCCESS;
		case 'operator':
			return kind === 'one' || kind === 'submit by' ? GONE : SUCCESS;
		case 'other':
			if (isOperators) return { code: 'capability-missing', names: '`platform`' };
			return kind === 'one' || kind === 'submit by' ? GONE : SUCCESS;
		case 'halted owner':
			if (isOperators) return { code: 'capability-missing', names: '`platform`' };
			return kind === 'submit' || kind === 'submit by' ? { code: 'tenant-not-active' } : SUCCESS;
	}
}

/** Cells that the rule does not tell: operation and caller. */
export const EXCEPTIONS: Readonly<Record<string, Expected>> = {
	// Nobody gives a key what they do not hold themselves: the example gives `messages:send`, the rotated key holds `messages:read`.
	'createApiKey as the bare key': { code: 'capability-missing', names: '`messages:send`' },
	'createApiKey as the good token': { code: 'capability-missing', names: '`messages:send`' },
	'rotateApiKey as the bare key': { code: 'capability-missing', names: '`messages:read`' },
	'rotateApiKey as the good token': { code: 'capability-missing', names: '`messages:read`' },
	// What is being deleted sends nothing anew; a suspended tenant's messages wait.
	'retryMessage as the tenant that is being deleted': { code: 'tenant-not-active' },
	'releaseMessage as the tenant that is being deleted': { code: 'tenant-not-active' },
	'replayDeadLetter as the tenant that is being deleted': { code: 'tenant-not-active' },
	'startDeadLetterReplay as the tenant that is being deleted': { code: 'tenant-not-active' },
};
