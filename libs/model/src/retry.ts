import { isAtDoor, type Outcome, type RecipientOutcome, type Refusal } from './outcome.js';

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

/** No provider's wish to be left alone is heeded for longer. */
const RETRY_AFTER_MOST_SECONDS = 24 * 3600;

/** Policies by message type, any of the six fields each; `*` is every type. */
export type RetryTypes = Readonly<Record<string, { readonly [Field in keyof RetryPolicy]?: RetryPolicy[Field] | undefined }>>;

/** A policy with what is set for one type over it, field by field: the type's own, then that of `*`, then the policy's. */
export function overridePolicy(policy: RetryPolicy, types: RetryTypes, type: string): RetryPolicy {
	const of = (name: string): RetryTypes[string] => (Object.hasOwn(types, name) ? (types[name] ?? {}) : {});
	const [own, all] = [of(type), of('*')];
	const field = (name: keyof RetryPolicy): number => own[name] ?? all[name] ?? policy[name];
	return {
		maxAttempts: field('maxAttempts'),
		baseSeconds: field('baseSeconds'),
		maxSeconds: field('maxSeconds'),
		multiplier: field('multiplier'),
		jitter: field('jitter'),
		quotaFloorSeconds: field('quotaFloorSeconds'),
	};
}

/** Seconds to wait after the `burnt`-th burnt attempt (1 or more): the backoff with its jitter, but no less than what the refusal asks for. `random` is in [0, 1). */
export function delaySeconds(
	policy: RetryPolicy,
	burnt: number,
	{ category, retryAfterSeconds }: Pick<Refusal, 'category' | 'retryAfterSeconds'>,
	random: number,
): number {
	// A factor that is beyond all numbers times no delay is no delay.
	const grown = policy.baseSeconds === 0 ? 0 : policy.baseSeconds * policy.multiplier ** (burnt - 1);
	const jittered = Math.min(policy.maxSeconds, grown) * (1 - policy.jitter + 2 * policy.jitter * random);
	return Math.max(jittered, category === 'QUOTA' ? policy.quotaFloorSeconds : 0, floorOf(retryAfterSeconds));
}

function floorOf(retryAfterSeconds: number | undefined): number {
	return retryAfterSeconds !== undefined && retryAfterSeconds > 0 ? Math.min(retryAfterSeconds, RETRY_AFTER_MOST_SECONDS) : 0;
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

/** True for what ends a recipient for good: asking again would give the same answer. */
export function isFinal(refusal: Pick<Refusal, 'category' | 'stage'>): boolean {
	return (refusal.category === 'PERMANENT' || refusal.category === 'INVALID_INPUT') && !needsPerson(refusal);
}

/** True for what needs a person before anything else can work. A final no before a mail is named, such as `550 account disabled`, is about us. */
export function needsPerson({ category, stage }: Pick<Refusal, 'category' | 'stage'>): boolean {
	return category === 'AUTH' || category === 'CONFIG' || (category === 'PERMANENT' && isAtDoor(stage));
}

/** Decides what becomes of a record: several recipients are judged together. */
export function decide(attempted: Attempted, policy: RetryPolicy, random: number): RetryDecision {
	const { outcome } = attempted;
	const burnt = attempted.budgetUsed + 1;
	const budgetLeft = burnt < attempted.budgetMax;
	if (outcome.kind === 'ambiguous') {
		if (attempted.onAmbiguous === 'hold') return { kind: 'hold' };
		const asked = [outcome, ...(outcome.known ?? []).filter(isRetryable)];
		return budgetLeft ? { kind: 'retry', delaySeconds: longest(policy, burnt, asked, random) } : { kind: 'dead-letter' };
	}
	const retryable = outcome.recipients.filter(isRetryable);
	const onlyQuota = retryable.length > 0 && retryable.every((one) => one.category === 'QUOTA');
	if (onlyQuota && (attempted.quotaWaitedSeconds ?? 0) < QUOTA_PATIENCE_SECONDS) {
		return { kind: 'wait', delaySeconds: longest(policy, Math.max(1, attempted.budgetUsed), retryable, random) };
	}
	if (retryable.length > 0 && budgetLeft) {
		return { kind: 'retry', delaySeconds: longest(policy, burnt, retryable, random) };
	}
	if (retryable.length > 0 || outcome.recipients.some((one) => one.kind === 'refused' && needsPerson(one))) return { kind: 'dead-letter' };
	const accepted = attempted.acceptedBefore + outcome.recipients.filter((one) => one.kind === 'accepted').length;
	return accepted > 0 ? { kind: 'sent' } : { kind: 'fail' };
}

/** The longest delay that any of these refusals asks for. */
function longest(policy: RetryPolicy, burnt: number, refusals: readonly Refusal[], random: number): number {
	return Math.max(...refusals.map((one) => delaySeconds(policy, burnt, one, random)));
}

function isRetryable(one: RecipientOutcome): one is Extract<RecipientOutcome, { kind: 'refused' }> {
	return one.kind === 'refused' && !isFinal(one) && !needsPerson(one);
}
