import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Category, Outcome, RecipientOutcome } from './outcome.js';
import {
	type Attempted,
	DEFAULT_RETRY,
	decide,
	delaySeconds,
	overridePolicy,
	QUOTA_PATIENCE_SECONDS,
	type RetryDecision,
} from './retry.js';

const policies = fc.record({
	maxAttempts: fc.integer({ min: 1, max: 100 }),
	baseSeconds: fc.double({ min: 0, max: 604_800, noNaN: true }),
	maxSeconds: fc.double({ min: 0, max: 604_800, noNaN: true }),
	multiplier: fc.double({ min: 1, max: 1_000, noNaN: true }),
	jitter: fc.double({ min: 0, max: 1, noNaN: true }),
	quotaFloorSeconds: fc.double({ min: 0, max: 604_800, noNaN: true }),
});
const burnt = fc.integer({ min: 1, max: 1_000 });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const plain = { category: 'TRANSIENT' } as const;

test('I5 the n-th delay is 30·2ⁿ⁻¹ s, at most an hour, ± 50 %, by default', () => {
	fc.assert(
		fc.property(burnt, chance, (n, random) => {
			const nominal = Math.min(3_600, 30 * 2 ** (n - 1));
			const delay = delaySeconds(DEFAULT_RETRY, n, plain, random);
			expect(delay).toBeGreaterThanOrEqual(0.5 * nominal);
			expect(delay).toBeLessThanOrEqual(1.5 * nominal);
		}),
	);
	expect([1, 2, 3, 4, 8].map((n) => delaySeconds(DEFAULT_RETRY, n, plain, 0.5))).toEqual([30, 60, 120, 240, 3_600]);
});

test('whatever the policy, a delay is a number within its bounds, and grows with the attempts', () => {
	fc.assert(
		fc.property(policies, burnt, chance, (policy, n, random) => {
			const delay = delaySeconds(policy, n, plain, random);
			expect(delay).toBeGreaterThanOrEqual(0);
			expect(delay).toBeLessThanOrEqual(policy.maxSeconds * (1 + policy.jitter) * (1 + Number.EPSILON * 4));
			expect(delaySeconds(policy, n + 1, plain, random)).toBeGreaterThanOrEqual(delay);
		}),
	);
});

test('a QUOTA refusal waits at least its floor, and no other does', () => {
	fc.assert(
		fc.property(policies, burnt, chance, (policy, n, random) => {
			const delay = delaySeconds(policy, n, plain, random);
			expect(delaySeconds(policy, n, { category: 'QUOTA' }, random)).toBe(Math.max(delay, policy.quotaFloorSeconds));
		}),
	);
});

test('Retry-After is a floor of at most 24 h, and what is no such number counts for nothing', () => {
	fc.assert(
		fc.property(policies, chance, fc.double({ min: 0, max: 1e9, noNaN: true }), (policy, random, retryAfterSeconds) => {
			const delay = delaySeconds(policy, 1, plain, random);
			expect(delaySeconds(policy, 1, { ...plain, retryAfterSeconds }, random)).toBe(Math.max(delay, Math.min(retryAfterSeconds, 86_400)));
		}),
	);
	for (const retryAfterSeconds of [Number.NaN, -5, Number.NEGATIVE_INFINITY])
		expect(delaySeconds(DEFAULT_RETRY, 1, { ...plain, retryAfterSeconds }, 0.5)).toBe(30);
	expect(delaySeconds(DEFAULT_RETRY, 1, { ...plain, retryAfterSeconds: Number.POSITIVE_INFINITY }, 0.5)).toBe(86_400);
});

const refused = (category: Category, n = 0): RecipientOutcome => ({
	n,
	kind: 'refused',
	category,
	stage: 'RCPT',
	code: null,
	enhancedCode: null,
	text: '',
});
const accepted = (n: number): RecipientOutcome => ({ n, kind: 'accepted', code: '250', enhancedCode: null, text: '' });
const answered = (...recipients: RecipientOutcome[]): Outcome => ({ kind: 'answered', recipients, providerMessageId: null });
const inDoubt: Outcome = { kind: 'ambiguous', category: 'UNKNOWN', stage: 'DOT', code: null, enhancedCode: null, text: '' };

function decideOn(outcome: Outcome, change: Partial<Attempted> = {}): RetryDecision {
	if (outcome.kind === 'withheld' || outcome.kind === 'given-back') throw new Error('nothing to decide');
	const attempted: Attempted = {
		outcome,
		budgetUsed: 0,
		budgetMax: 5,
		quotaWaitedSeconds: null,
		acceptedBefore: 0,
		onAmbiguous: 'resend',
		...change,
	};
	return decide(attempted, DEFAULT_RETRY, 0.5);
}

test.each<readonly [Category, RetryDecision, RetryDecision]>([
	['TRANSIENT', { kind: 'retry', delaySeconds: 30 }, { kind: 'dead-letter' }],
	['UNKNOWN', { kind: 'retry', delaySeconds: 30 }, { kind: 'dead-letter' }],
	['QUOTA', { kind: 'wait', delaySeconds: 300 }, { kind: 'wait', delaySeconds: 300 }],
	['PERMANENT', { kind: 'fail' }, { kind: 'fail' }],
	['INVALID_INPUT', { kind: 'fail' }, { kind: 'fail' }],
	['AUTH', { kind: 'dead-letter' }, { kind: 'dead-letter' }],
	['CONFIG', { kind: 'dead-letter' }, { kind: 'dead-letter' }],
])('K32 %s has its decision at the first attempt and at the last', (category, first, last) => {
	expect(decideOn(answered(refused(category)))).toEqual(first);
	expect(decideOn(answered(refused(category)), { budgetUsed: 4 })).toEqual(last);
});

test('a final no before a mail is named is about us: a dead letter, and no recipient is refused', () => {
	const banner = { ...refused('PERMANENT'), stage: 'CONN' } as RecipientOutcome;
	expect(decideOn(answered(banner, banner))).toEqual({ kind: 'dead-letter' });
});

test('K37 an exhausted not-now is a dead letter and never a failure for good', () => {
	expect(decideOn(answered(refused('TRANSIENT'), refused('PERMANENT', 1)), { budgetUsed: 4 })).toEqual({ kind: 'dead-letter' });
});

test('a quota that lasts for longer than 48 h burns the budget like any other', () => {
	const waited = { quotaWaitedSeconds: QUOTA_PATIENCE_SECONDS };
	expect(decideOn(answered(refused('QUOTA')), waited)).toEqual({ kind: 'retry', delaySeconds: 300 });
	expect(decideOn(answered(refused('QUOTA')), { ...waited, budgetUsed: 4 })).toEqual({ kind: 'dead-letter' });
});

test('an attempt in doubt is tried again, held or given up, as the config and the budget say', () => {
	expect(decideOn(inDoubt)).toEqual({ kind: 'retry', delaySeconds: 30 });
	expect(decideOn(inDoubt, { budgetUsed: 4 })).toEqual({ kind: 'dead-letter' });
	expect(decideOn(inDoubt, { onAmbiguous: 'hold' })).toEqual({ kind: 'hold' });
});

test('several recipients are judged together', () => {
	expect(decideOn(answered(accepted(0), refused('PERMANENT', 1)))).toEqual({ kind: 'sent' });
	expect(decideOn(answered(accepted(0), refused('CONFIG', 1)))).toEqual({ kind: 'dead-letter' });
	expect(decideOn(answered(accepted(0), refused('TRANSIENT', 1), refused('CONFIG', 2)))).toEqual({ kind: 'retry', delaySeconds: 30 });
	expect(decideOn(answered(refused('PERMANENT')), { acceptedBefore: 1 })).toEqual({ kind: 'sent' });
});

test('a policy of a type is laid over another field by field: the type’s own, then that of all types', () => {
	const types = { 'order.confirmed': { maxAttempts: 8 }, '*': { maxAttempts: 3, baseSeconds: 10 } };
	expect(overridePolicy(DEFAULT_RETRY, types, 'order.confirmed')).toEqual({ ...DEFAULT_RETRY, maxAttempts: 8, baseSeconds: 10 });
	expect(overridePolicy(DEFAULT_RETRY, types, 'other')).toEqual({ ...DEFAULT_RETRY, maxAttempts: 3, baseSeconds: 10 });
	expect(overridePolicy(DEFAULT_RETRY, {}, 'toString')).toEqual(DEFAULT_RETRY);
	expect(overridePolicy(DEFAULT_RETRY, { '*': { jitter: 0 } }, '__proto__')).toEqual({ ...DEFAULT_RETRY, jitter: 0 });
});
