import type { Answer } from '../harness/api.js';
import type { RowChange } from '../harness/row-marks.js';

/** What was sent, and what was answered. */
export type Written = {
	readonly body: unknown;
	/** Whether an Idempotency-Key was sent. */
	readonly isKeyed: boolean;
	/** The ETag of the thing before; null: it has none. */
	readonly etag: string | null;
	readonly answer: Pick<Answer, 'status' | 'body' | 'headers'>;
};

/** Rows more in a table: exactly so many, 0 for rows that changed and became neither more nor fewer; or from, to, and whether it may be untouched. */
export type Expectation = number | { readonly from: number; readonly to: number };

/** Tables that change, and by how much; every other table stays as it is, row by row. */
export type Writes = Readonly<Record<string, Expectation>>;

/** Each makes a flow when it is the first of its server, its priority and its tenant. */
const MAYBE_FLOWS = { from: 0, to: 3 };
const AUDITED = { audit_event: 1 };
/** The first of a month makes the row that counts. */
const COUNTED = { tenant_message_usage: { from: 0, to: 1 } };

/** What an accepted call of each operation writes. An operation that is not here writes nothing. */
const WRITES: Readonly<Record<string, (call: Written) => Writes>> = {
	sendMail: (call) => sent([call.body], call),
	sendMails: (call) => sent((call.body as { items: unknown[] }).items, call),
	cancelMessage: () => ({ ...AUDITED, send_state: 0, outbox_entry: -1 }),
	retryMessage: () => ({ ...AUDITED, send_state: 0, outbox_entry: 0 }),
	releaseMessage: ({ body }) => {
		const { resolution } = body as { resolution: 'resend' | 'delivered' | 'failed' };
		const more = { resend: { outbox_entry: 1 }, delivered: { send_recipient: 0 }, failed: {} };
		return { ...AUDITED, send_state: 0, ...more[resolution] };
	},
	resolveDeadLetter: () => ({ ...AUDITED, dead_letter_message: 0 }),
	discardDeadLetter: () => ({ ...AUDITED, dead_letter_message: 0 }),
	// The letter's audit, and that of its message.
	replayDeadLetter: () => ({ audit_event: 2, dead_letter_message: 0, send_state: 0, outbox_entry: 1 }),
	// A dry run writes nothing.
	startDeadLetterReplay: ({ answer }) => (answer.status === 200 ? {} : { ...AUDITED, dead_letter_replay: 1 }),
	stopDeadLetterReplay: () => ({ ...AUDITED, dead_letter_replay: 0 }),
	// The default until now has an audit of its own when it is one no longer.
	createMailServer: ({ answer }) => ({
		audit_event: answer.body.default ? { from: 1, to: 2 } : 1,
		mail_send_server_config: 1,
		gate: 1,
	}),
	changeMailServer: ({ etag, answer }) =>
		etag === answer.headers.get('etag')
			? {}
			: { audit_event: answer.body.default ? { from: 1, to: 2 } : 1, mail_send_server_config: 0, gate: { from: 0, to: 0 } },
	deleteMailServer: () => ({ ...AUDITED, mail_send_server_config: -1, gate: -1 }),
	testMailServer: (call) => sent([{ to: ['one'] }], call),
	pauseMailServer: () => ({ ...AUDITED, gate: 0 }),
	resumeMailServer: () => ({ ...AUDITED, gate: 0 }),
	// Its gate is made when it is paused for the first time.
	pauseMailSend: () => ({ ...AUDITED, gate: { from: 0, to: 1 } }),
	resumeMailSend: () => ({ ...AUDITED, gate: 0 }),
	createTenant: () => ({ ...AUDITED, tenant: 1 }),
	changeTenant: ({ etag, answer }) => (etag === answer.headers.get('etag') ? {} : { ...AUDITED, tenant: 0 }),
	deleteTenant: () => ({ ...AUDITED, tenant: 0 }),
	suspendTenant: () => ({ ...AUDITED, tenant: 0 }),
	resumeTenant: () => ({ ...AUDITED, tenant: 0 }),
	setQuota: ({ etag, answer }) =>
		etag === answer.headers.get('etag') ? {} : { ...AUDITED, tenant: 0, tenant_message_quota: 3 - answer.body.defaults.length },
	createApiKey: () => ({ ...AUDITED, api_key: 1 }),
	revokeApiKey: () => ({ ...AUDITED, api_key: 0 }),
	// The new key is made and the old one is rotated.
	rotateApiKey: () => ({ audit_event: 2, api_key: 1 }),
	requeueOutboxEntry: () => ({ ...AUDITED, outbox_entry: 0 }),
};

/** What an accepted call must have written. */
export function expectedWrites(operationId: string, call: Written): Writes {
	return WRITES[operationId]?.(call) ?? {};
}

type Mail = { to?: unknown[]; cc?: unknown[]; bcc?: unknown[]; attachments?: unknown[]; dedupeKey?: string };

function sent(bodies: readonly unknown[], { isKeyed, answer }: Written): Writes {
	if (answer.status === 200 || answer.headers.get('idempotent-replayed') === 'true') return {};
	const known: unknown = answer.body.deduplicated ?? [];
	const isKnown = (index: number): boolean => (Array.isArray(known) ? known.includes(index) : true);
	const fresh = (bodies as readonly Mail[]).filter((_, index) => !isKnown(index));
	const sum = (count: (mail: Mail) => number): number => fresh.reduce((all, mail) => all + count(mail), 0);
	const all = {
		send_record: fresh.length,
		send_state: fresh.length,
		send_payload: fresh.length,
		outbox_entry: fresh.length,
		send_recipient: sum(({ to = [], cc = [], bcc = [] }) => to.length + cc.length + bcc.length),
		attachment: sum(({ attachments = [] }) => attachments.length),
		dedupe_key: sum(({ dedupeKey }) => (dedupeKey === undefined ? 0 : 1)),
		idempotency_key: isKeyed ? 1 : 0,
	};
	return {
		...Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0)),
		flow: MAYBE_FLOWS,
		...(fresh.length > 0 ? COUNTED : {}),
	};
}

/** What was written otherwise than it should be; `tenantId`: whose rows alone may change. */
export function faultsOfWrites(changes: readonly RowChange[], tenantId: string, wanted: Writes): string[] {
	const foreign = changes.filter((one) => one.tenantId !== tenantId).map((one) => `writes ${one.table} of ${one.tenantId}`);
	const own = new Map(changes.filter((one) => one.tenantId === tenantId).map((one) => [one.table, one.more]));
	const tables = [...new Set([...own.keys(), ...Object.keys(wanted)])];
	const wrong = tables.filter((table) => !fits(own.get(table), wanted[table]));
	return [...foreign, ...wrong.map((table) => `writes ${own.get(table)} rows of ${table}, not ${JSON.stringify(wanted[table])}`)];
}

function fits(more: number | undefined, wanted: Expectation | undefined): boolean {
	if (wanted === undefined || typeof wanted === 'number') return more === wanted;
	return more === undefined ? wanted.from === 0 : more >= wanted.from && more <= wanted.to;
}
