import type { Category, Outcome, RecipientOutcome } from './outcome.js';

/** How a failed attempt is tried again. Durations in seconds. */
export type RetryPolicy = {
	/** Attempts that may burn in all; at least 1. */
	readonly maxAttempts: number;
	/** Delay after the first burnt attempt. */
	readonly baseSeconds: number;
	/** No delay is longer than this, before jitter. */
	readonly maxSeconds: number;
	/** Each burnt attempt multiplies the delay by this. */
	readonly multiplier: number;
	/** Share of the delay by which it varies both ways: 0.5 is ±50 %. */
	readonly jitter: number;
	/** A QUOTA refusal waits at least this long. */
	readonly quotaFloorSeconds: number;
};

/** A provider's own QUOTA waits without burning for this long, counted from the first such answer in a row. */
export const QUOTA_PATIENCE_SECONDS = 48 * 3600;

/** The defaults. */
export const DEFAULT_RETRY: RetryPolicy = {
	maxAttempts: 5,
	baseSeconds: 30,
	maxSeconds: 3600,
	multiplier: 2,
	jitter: 0.5,
	quotaFloorSeconds: 300,
};

/** Seconds to wait after the `burnt`-th burnt attempt (1 or more). `random` is in [0, 1). */
export function delaySeconds(policy: RetryPolicy, burnt: number, category: Category, random: number): number {
	const nominal = Math.min(policy.maxSeconds, policy.baseSeconds * policy.multiplier ** (burnt - 1));
	const jittered = nominal * (1 - policy.jitter + 2 * policy.jitter * random);
	return category === 'QUOTA' ? Math.max(jittered, policy.quotaFloorSeconds) : jittered;
}

/** What is done with a record after an attempt. A closed union: every reader switches over all of it. */
export type RetryDecision =
	| { readonly kind: 'sent' }
	/** Once more after a delay; the attempt burns. */
	| { readonly kind: 'retry'; readonly delaySeconds: number }
	/** Once more after a delay; the attempt burns nothing (the provider's own quota). */
	| { readonly kind: 'wait'; readonly delaySeconds: number }
	| { readonly kind: 'fail' }
	| { readonly kind: 'dead-letter' }
	| { readonly kind: 'hold' };

/** What the decision is made from: the attempt's outcome and the record's counts before it. */
export type Attempted = {
	readonly outcome: Exclude<Outcome, { kind: 'withheld' | 'given-back' }>;
	/** Burnt attempts before this one, and how many may burn in all. */
	readonly budgetUsed: number;
	readonly budgetMax: number;
	/** Seconds since the first QUOTA answer in an unbroken row of them; null when the last answer was another. */
	readonly quotaWaitedSeconds: number | null;
	/** Recipients whose earlier attempt was accepted. */
	readonly acceptedBefore: number;
	/** What the provider config wants when nobody knows. */
	readonly onAmbiguous: 'resend' | 'hold';
};

/** True for the categories that end a recipient for good: asking again would give the same answer. */
export function isFinal(category: Category): boolean {
	return category === 'PERMANENT' || category === 'INVALID_INPUT';
}

/** True for the categories that need a person before anything else can work. */
export function needsPerson(category: Category): boolean {
	return category === 'AUTH' || category === 'CONFIG';
}

/** Decides what becomes of a record: several recipients are judged together. */
export function decide(attempted: Attempted, policy: RetryPolicy, random: number): RetryDecision {
	const { outcome } = attempted;
	const burnt = attempted.budgetUsed + 1;
	const budgetLeft = burnt < attempted.budgetMax;
	if (outcome.kind === 'ambiguous') {
		if (attempted.onAmbiguous === 'hold') return { kind: 'hold' };
		return budgetLeft ? { kind: 'retry', delaySeconds: delaySeconds(policy, burnt, outcome.category, random) } : { kind: 'dead-letter' };
	}
	const retryable = outcome.recipients.filter(isRetryable);
	const onlyQuota = retryable.length > 0 && retryable.every((one) => one.category === 'QUOTA');
	if (onlyQuota && (attempted.quotaWaitedSeconds ?? 0) < QUOTA_PATIENCE_SECONDS) {
		return { kind: 'wait', delaySeconds: delaySeconds(policy, Math.max(1, attempted.budgetUsed), 'QUOTA', random) };
	}
	if (retryable.length > 0 && budgetLeft) {
		const delays = retryable.map((one) => delaySeconds(policy, burnt, one.category, random));
		return { kind: 'retry', delaySeconds: Math.max(...delays) };
	}
	if (retryable.length > 0 || outcome.recipients.some((one) => one.kind === 'refused' && needsPerson(one.category)))
		return { kind: 'dead-letter' };
	const accepted = attempted.acceptedBefore + outcome.recipients.filter((one) => one.kind === 'accepted').length;
	return accepted > 0 ? { kind: 'sent' } : { kind: 'fail' };
}

function isRetryable(one: RecipientOutcome): one is Extract<RecipientOutcome, { kind: 'refused' }> {
	return one.kind === 'refused' && !isFinal(one.category) && !needsPerson(one.category);
}
