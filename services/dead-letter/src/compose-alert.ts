import { createHash } from 'node:crypto';
import { ALERT_TYPE, type Alert, DEFAULT_AGE_SECONDS, type NewRecord } from '@tidings/db';
import { continueTrace, DEFAULT_RETRY, newId } from '@tidings/model';
import type { AlertServer } from './find-alert-server.js';

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The mail that tells of a cause: counts and ids only, no address and nothing that a provider said. */
export function composeAlert(
	alert: Alert,
	{ server, recipients }: { readonly server: AlertServer; readonly recipients: readonly string[] },
): NewRecord {
	const addresses = sha256([...recipients].sort().join('\n')).toString('hex');
	return {
		id: newId(),
		tenantId: server.tenantId,
		channel: 'MAIL',
		route: 'mail-send',
		lane: 'urgent',
		type: ALERT_TYPE,
		scope: 'PLATFORM',
		configId: server.id,
		configTier: 'PLATFORM',
		metadata: {},
		...continueTrace(undefined),
		dedupeKey: `${ALERT_TYPE}/${alert.source}/${alert.category}/${alert.until}:MAIL:${addresses}`,
		notBefore: null,
		validUntil: null,
		maxAgeSeconds: DEFAULT_AGE_SECONDS,
		budgetMax: DEFAULT_RETRY.maxAttempts,
		subject: `[Tidings] ${countOf(alert.fresh, 'new dead letter')}: ${causeOf(alert)}`,
		text: textOf(alert),
		html: null,
		from: { address: server.fromAddress, name: server.fromName },
		replyTo: null,
		headers: { 'Auto-Submitted': 'auto-generated' },
		recipients: recipients.map((address) => ({ role: 'to', address, name: null, addressHash: sha256(address) })),
		attachments: [],
	};
}

const WORDS: Readonly<Record<Alert['source'], string>> = {
	SEND_EXHAUSTED: 'Messages were given up: every attempt is used up, or trying again has no use.',
	BROKER_POISON: 'Topic messages could not be processed.',
	AMBIGUOUS: 'Nobody knows whether these messages were sent; a person must decide.',
	EXPIRED: 'Messages were too late to be of use before they could be sent.',
	REPORT_FAILED: 'Reports could not be made.',
};

function textOf(alert: Alert): string {
	const more = alert.fresh > alert.examples.length ? [`  and ${alert.fresh - alert.examples.length} more`] : [];
	return [
		WORDS[alert.source],
		'',
		`Cause: ${causeOf(alert)}`,
		`New: ${alert.fresh}`,
		`Open in all: ${alert.open}`,
		'',
		`New ones are of ${countOf(alert.tenants, 'tenant')}${alert.tenants > alert.most.length ? ', most of' : ''}:`,
		...alert.most.map(({ tenantId, fresh }) => `  ${tenantId}: ${fresh}`),
		'',
		'Letters:',
		...alert.examples.map(({ id, tenantId }) => `  ${id} of tenant ${tenantId}`),
		...more,
		'',
		`Look into one: GET /v1/dead-letters/{id}, with the header Tidings-Tenant.`,
		`Look at all of a tenant: GET /v1/dead-letters?status=PENDING&source=${alert.source}${alert.category === '' ? '' : `&category=${alert.category}`}`,
		'Send them again when the cause is mended: POST /v1/dead-letter-replays.',
		'',
		'There is at most one such mail in 15 minutes for each cause.',
		'',
	].join('\n');
}

function causeOf({ source, category }: Alert): string {
	return category === '' ? source : `${source}, ${category}`;
}

function countOf(count: number, what: string): string {
	return `${count} ${what}${count === 1 ? '' : 's'}`;
}
