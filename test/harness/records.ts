import { createHash } from 'node:crypto';
import { acceptBatch, type ClaimedRecord, type Db, DEFAULT_AGE_SECONDS, ensureFlows, type NewRecord, type Settlement } from '@tidings/db';
import { newId } from '@tidings/model';

/** A tenant with one mail server, as the tables know it. */
export type Sender = { readonly tenantId: string; readonly configId: string };

/** Makes a tenant with a mail server. `onAmbiguous` is what the server's config says about attempts whose end nobody knows. */
export async function makeSender(db: Db, options: { onAmbiguous?: 'resend' | 'hold'; host?: string; port?: number } = {}): Promise<Sender> {
	const tenantId = newId();
	const configId = newId();
	await db.prisma.tenant.create({ data: { id: tenantId, name: `tenant ${tenantId}` } });
	await db.prisma.mailSendServerConfig.create({
		data: {
			id: configId,
			tenantId,
			name: 'server',
			host: options.host ?? '127.0.0.1',
			port: options.port ?? 25,
			security: 'none',
			fromAddress: 'shop@example.com',
			allowedFrom: ['*@example.com'],
			isDefault: true,
			onAmbiguous: options.onAmbiguous ?? 'resend',
		},
	});
	await db.prisma.gate.create({ data: { id: configId, tenantId, kind: 'CONFIG' } });
	return { tenantId, configId };
}

/** A record as a caller would have it accepted: one recipient, a short text. */
export function newRecord(sender: Sender, change: Partial<NewRecord> = {}): NewRecord {
	return {
		id: newId(),
		tenantId: sender.tenantId,
		channel: 'MAIL',
		route: 'mail-send',
		lane: 'normal',
		type: 'mail',
		scope: 'TENANT',
		configId: sender.configId,
		configTier: 'TENANT',
		metadata: {},
		traceId: newId().replaceAll('-', ''),
		traceparent: `00-${newId().replaceAll('-', '')}-0000000000000001-01`,
		dedupeKey: null,
		notBefore: null,
		validUntil: null,
		maxAgeSeconds: DEFAULT_AGE_SECONDS,
		budgetMax: 5,
		subject: 'Hello',
		text: 'Hello, world',
		html: null,
		from: { address: 'shop@example.com', name: 'Shop' },
		replyTo: null,
		headers: {},
		recipients: [recipient('ann@example.com')],
		attachments: [],
		...change,
	};
}

/** A recipient, with the hash that reads find it by. */
export function recipient(address: string, role: 'to' | 'cc' | 'bcc' = 'to'): NewRecord['recipients'][number] {
	return { role, address, name: null, addressHash: createHash('sha256').update(address).digest() };
}

/** Accepts records as message-api does, without waking anybody. Returns their ids in order. */
export async function acceptRecords(db: Db, records: readonly NewRecord[]): Promise<string[]> {
	const flows = await ensureFlows(
		db.pool,
		records.map((record) => ({ tenantId: record.tenantId, gate: record.configId, lane: record.lane, route: record.route })),
	);
	const flowing = records.map((record, index) => {
		const flowId = flows[index];
		if (flowId === undefined) throw new Error('a flow is missing');
		return { ...record, flowId };
	});
	const {
		results: [result],
	} = await acceptBatch(db.pool, [{ records: flowing, idempotency: null }]);
	if (result?.kind !== 'accepted') throw new Error(`not accepted: ${result?.kind}`);
	return [...result.ids];
}

/** The settlement of a claimed record, as judging an answer would make it: SENT, or another state with what that means. */
export function settlementOf(record: ClaimedRecord, to: Settlement['to'] = 'SENT', change: Partial<Settlement> = {}): Settlement {
	const sent = to === 'SENT';
	const answer = {
		stage: sent ? ('DOT' as const) : ('RCPT' as const),
		code: sent ? '250' : '451',
		enhancedCode: sent ? '2.0.0' : '4.3.0',
		text: sent ? 'queued' : 'later',
	};
	const category = sent ? null : 'TRANSIENT';
	return {
		id: record.id,
		tenantId: record.tenantId,
		configId: record.configId,
		attemptNo: record.attemptNo,
		version: record.version,
		to,
		delaySeconds: 0,
		burns: !sent,
		waits: false,
		partial: false,
		attempt: {
			provider: 'smtp',
			worker: 'tester',
			publishedAt: record.publishedAt,
			startedAt: record.claimedAt,
			outcome: sent ? 'ACCEPTED' : to === 'HELD' ? 'AMBIGUOUS' : 'REFUSED',
			ambiguous: to === 'HELD',
			category,
			...answer,
			providerMessageId: null,
		},
		recipients: record.recipients.map(({ n }) => ({
			n,
			outcome: sent ? 'ACCEPTED' : to === 'FAILED' ? 'REFUSED' : 'OPEN',
			category,
			...answer,
		})),
		...change,
	};
}
