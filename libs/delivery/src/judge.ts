import type { AttemptRow, ClaimedRecord, RecipientRow, Settlement } from '@tidings/db';
import { decide, isFinal, type Outcome, type RecipientOutcome, type RetryDecision, type RetryPolicy } from '@tidings/model';

/** An outcome that asks for a settlement. `given-back` goes back as it came: due at once, and nothing is burnt. */
export type Settled = Exclude<Outcome, { kind: 'withheld' }>;

type Tried = Exclude<Settled, { kind: 'given-back' }>;

/** What judging needs besides the record and the outcome. */
export type Judging = {
	readonly policy: RetryPolicy;
	readonly provider: string;
	readonly worker: string /** In [0, 1), for jitter. */;
	readonly random: number;
};

/** Turns what a provider answered into what is written: the decision, the attempt row and the recipients. */
export function judge(record: ClaimedRecord, outcome: Settled, judging: Judging): Settlement {
	if (outcome.kind === 'given-back') return giveBack(record, judging);
	const acceptedBefore = record.recipients.filter((one) => one.outcome === 'ACCEPTED').length;
	const decision = decide(
		{
			outcome,
			budgetUsed: record.budgetUsed,
			budgetMax: record.budgetMax,
			quotaWaitedSeconds: record.quotaWaitedSeconds,
			acceptedBefore,
			onAmbiguous: record.hold ? 'hold' : 'resend',
		},
		judging.policy,
		judging.random,
	);
	const answers = outcome.kind === 'answered' ? outcome.recipients : (outcome.known ?? []);
	const accepted = acceptedBefore + answers.filter((one) => one.kind === 'accepted').length;
	return {
		...fenceOf(record),
		...destination(decision),
		partial: accepted > 0 && accepted < record.recipients.length,
		attempt: attemptRow(record, outcome, judging),
		recipients: recipientRows(record, outcome),
	};
}

function giveBack(record: ClaimedRecord, { provider, worker }: Judging): Settlement {
	const accepted = record.recipients.filter((one) => one.outcome === 'ACCEPTED').length;
	const { publishedAt, claimedAt: startedAt } = record;
	const nothing = { category: null, stage: null, code: null, enhancedCode: null, providerMessageId: null } as const;
	const text = 'given back before the content was handed over: the sender stopped, or had too little time left; nothing was sent';
	return {
		...fenceOf(record),
		to: 'RETRY',
		delaySeconds: 0,
		burns: false,
		waits: false,
		partial: accepted > 0 && accepted < record.recipients.length,
		attempt: { provider, worker, publishedAt, startedAt, outcome: 'UNKNOWN', ambiguous: false, text, ...nothing },
		recipients: [],
	};
}

function fenceOf({
	id,
	tenantId,
	configId,
	attemptNo,
	version,
}: ClaimedRecord): Pick<Settlement, 'id' | 'tenantId' | 'configId' | 'attemptNo' | 'version'> {
	return { id, tenantId, configId, attemptNo, version };
}

function destination(decision: RetryDecision): Pick<Settlement, 'to' | 'delaySeconds' | 'burns' | 'waits'> {
	switch (decision.kind) {
		case 'sent':
			return { to: 'SENT', delaySeconds: 0, burns: false, waits: false };
		case 'retry':
			return { to: 'RETRY', delaySeconds: decision.delaySeconds, burns: true, waits: false };
		case 'wait':
			return { to: 'RETRY', delaySeconds: decision.delaySeconds, burns: false, waits: true };
		case 'fail':
			return { to: 'FAILED', delaySeconds: 0, burns: true, waits: false };
		case 'dead-letter':
			return { to: 'DEAD_LETTER', delaySeconds: 0, burns: true, waits: false };
		case 'hold':
			return { to: 'HELD', delaySeconds: 0, burns: true, waits: false };
	}
}

function attemptRow(record: ClaimedRecord, outcome: Tried, { provider, worker }: Judging): AttemptRow {
	const { publishedAt, claimedAt: startedAt } = record;
	if (outcome.kind === 'ambiguous') {
		const { category, stage, code, enhancedCode, text } = outcome;
		const fixed = { outcome: 'AMBIGUOUS', ambiguous: true, providerMessageId: null } as const;
		return { provider, worker, publishedAt, startedAt, category, stage, code, enhancedCode, text, ...fixed };
	}
	const refusal = outcome.recipients.find(isRefused);
	const answer = refusal ?? outcome.recipients[0];
	const anyAccepted = outcome.recipients.some((one) => one.kind === 'accepted');
	// Field by field: V8 takes a hundred times as long for a spread that more fields follow.
	return {
		provider,
		worker,
		publishedAt,
		startedAt,
		outcome: answer === undefined ? 'UNKNOWN' : refusal === undefined ? 'ACCEPTED' : anyAccepted ? 'PARTIAL' : 'REFUSED',
		ambiguous: false,
		category: refusal?.category ?? null,
		stage: answer === undefined ? null : (refusal?.stage ?? 'DOT'),
		code: answer?.code ?? null,
		enhancedCode: answer?.enhancedCode ?? null,
		text: answer === undefined ? 'no recipient was open any more; nothing was sent' : answer.text,
		providerMessageId: outcome.providerMessageId,
	};
}

function recipientRows(record: ClaimedRecord, outcome: Tried): RecipientRow[] {
	if (outcome.kind === 'answered') return outcome.recipients.map(recipientRow);
	const { category, stage, code, enhancedCode, text } = outcome;
	const known = outcome.known?.map(recipientRow) ?? [];
	const answered = new Set(known.map((one) => one.n));
	const open = record.recipients.filter((one) => one.outcome === 'OPEN' && !answered.has(one.n));
	return [...known, ...open.map(({ n }) => ({ n, outcome: 'OPEN', category, stage, code, enhancedCode, text }) as const)];
}

function recipientRow(one: RecipientOutcome): RecipientRow {
	const { n, code, enhancedCode, text } = one;
	if (one.kind === 'accepted') return { n, outcome: 'ACCEPTED', category: null, stage: 'DOT', code, enhancedCode, text };
	return { n, outcome: isFinal(one) ? 'REFUSED' : 'OPEN', category: one.category, stage: one.stage, code, enhancedCode, text };
}

function isRefused(one: RecipientOutcome): one is Extract<RecipientOutcome, { kind: 'refused' }> {
	return one.kind === 'refused';
}
