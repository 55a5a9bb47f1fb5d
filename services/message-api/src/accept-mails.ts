import { type AcceptResult, type ActiveServer, type Db, DEFAULT_AGE_SECONDS, type IdempotencyKey } from '@tidings/db';
import { newId, now, overridePolicy, Problem, type RetryPolicy, routeOf, type Trace } from '@tidings/model';
import { type Caller, refusalOfTenant } from '@tidings/runtime';
import type { Acceptor } from './accept-messages.js';
import { storedDedupeKey } from './checks/address.js';
import { collectFaults, type Faults } from './checks/faults.js';
import type { PendingRecord } from './flow-ids.js';
import type { MailDraft } from './mail/draft.js';
import { readMail } from './mail/read-mail.js';
import { refuseForeignTier } from './refuse-foreign-tier.js';
import type { KnownServers } from './servers/known-servers.js';
import { resolveServer } from './servers/resolve-server.js';
import { storedOr } from './submission.js';

/** What accepting mails needs. */
export type MailContext = {
	readonly db: Db;
	readonly acceptor: Acceptor;
	readonly servers: KnownServers;
	readonly policyOf: (type: string) => RetryPolicy;
};

/** Mails that a caller submits together, as they stand in the body. */
export type MailSubmission = {
	readonly caller: Caller;
	readonly trace: Trace;
	/** Each mail with the start of its pointers. */
	readonly mails: readonly { readonly at: string; readonly body: unknown }[];
	/** Faults that the schema found. */
	readonly faults: Problem['faults'];
	readonly idempotency: IdempotencyKey | null;
};

/** A mail that may be sent, with the server that it goes through. */
export type ReadyMail = { readonly draft: MailDraft; readonly server: ActiveServer };

const ROUTE = routeOf('MAIL');

/** Accepts mails: all or none. Resolves when they are committed. Throws a `Problem` with every fault when one of them is refused; then nothing was written. */
export async function acceptMails(context: MailContext, submission: MailSubmission): Promise<AcceptResult> {
	const { caller, trace, idempotency } = submission;
	const checked = await checkMails(context, submission);
	if ('refusal' in checked) return await storedOr(checked.refusal, context.db.pool, idempotency);
	const records = checked.mails.map((mail) => recordOf(mail, caller, trace, context.policyOf));
	const bytes = checked.mails.reduce((sum, { draft }) => sum + sizeOf(draft), 0);
	return await context.acceptor.accept({ records, idempotency }, bytes);
}

/** Runs every check and writes nothing. */
export async function checkMails(
	context: MailContext,
	submission: MailSubmission,
): Promise<{ readonly mails: readonly ReadyMail[] } | { readonly refusal: Problem }> {
	const inactive = refusalOfTenant(submission.caller.tenant);
	if (inactive !== null) return { refusal: inactive };
	const faults = collectFaults(submission.faults);
	const at = now();
	const drafts = submission.mails.map((mail) => readMail(mail.body, mail.at, at, faults));
	const foreign = drafts.filter((draft) => draft.scope === 'PLATFORM').map((draft) => `${draft.at}/scope`);
	if (foreign.length > 0) refuseForeignTier(submission.caller, foreign);
	const mails = await chooseServers(context.servers, submission.caller, drafts, faults);
	if (faults.list.length === 0) return { mails };
	const count = faults.list.length === 1 ? 'a fault' : `${faults.list.length} faults`;
	return { refusal: new Problem('invalid-request', `The request has ${count}. Nothing was written.`, { faults: faults.list }) };
}

/** What is remembered about servers may accept a mail but never refuse one: a server that was made a moment ago counts. */
async function chooseServers(servers: KnownServers, caller: Caller, drafts: readonly MailDraft[], faults: Faults): Promise<ReadyMail[]> {
	const { id } = caller.tenant;
	const remembered = servers.get(id);
	const known = remembered instanceof Promise ? await remembered : remembered;
	const resolveAll = (list: readonly ActiveServer[]): ReturnType<typeof resolveServer>[] =>
		drafts.map((draft) => resolveServer(list, id, draft));
	let resolved = resolveAll(known);
	if (resolved.some((one) => 'fault' in one)) resolved = resolveAll(await servers.reread(id));
	return resolved.flatMap((one, index) => {
		const draft = drafts[index];
		if ('fault' in one) faults.add(one.fault.pointer, one.fault.code, one.fault.detail);
		return 'fault' in one || draft === undefined ? [] : [{ draft, server: one.server }];
	});
}

function recordOf({ draft, server }: ReadyMail, caller: Caller, trace: Trace, policyOf: MailContext['policyOf']): PendingRecord {
	const { dedupeKey } = draft;
	return {
		id: newId(),
		tenantId: caller.tenant.id,
		channel: 'MAIL',
		route: ROUTE,
		lane: draft.lane,
		type: draft.type,
		scope: draft.scope ?? caller.tenant.kind,
		configId: server.id,
		configTier: server.tier,
		metadata: draft.metadata,
		traceId: trace.traceId,
		traceparent: trace.traceparent,
		dedupeKey:
			dedupeKey === null
				? null
				: storedDedupeKey(
						dedupeKey,
						draft.recipients.filter((one) => one.role === 'to').map((one) => one.address),
					),
		notBefore: draft.notBefore,
		validUntil: draft.validUntil,
		maxAgeSeconds: maxAgeOf(caller.tenant.settings),
		budgetMax: overridePolicy(policyOf(draft.type), caller.tenant.settings.retryTypes ?? {}, draft.type).maxAttempts,
		subject: draft.subject,
		text: draft.text,
		html: draft.html,
		from: draft.from ?? { address: server.fromAddress, name: server.fromName },
		replyTo: draft.replyTo,
		headers: draft.headers,
		recipients: draft.recipients,
		attachments: draft.attachments,
		flowId: '',
	};
}

/** How long a message without `validUntil` is tried, in seconds, by its tenant's settings. */
export function maxAgeOf({ maxAgeHours }: Caller['tenant']['settings']): number {
	return maxAgeHours === undefined || maxAgeHours === null ? DEFAULT_AGE_SECONDS : maxAgeHours * 3600;
}

/** About how many bytes a mail puts on the way to the database. */
function sizeOf(draft: MailDraft): number {
	const characters = draft.subject.length + (draft.text?.length ?? 0) + (draft.html?.length ?? 0);
	return 1_000 + 2 * characters + 200 * draft.recipients.length + draft.attachments.reduce((sum, one) => sum + one.content.length, 0);
}
