import type { Outcome } from '@tidings/model';

/** What a provider's answer is called in metrics and traces. One that was given back is no answer. */
export function outcomeLabel(outcome: Exclude<Outcome, { kind: 'given-back' }>): 'accepted' | 'refused' | 'ambiguous' | 'withheld' {
	if (outcome.kind !== 'answered') return outcome.kind;
	return outcome.recipients.some((one) => one.kind === 'refused') ? 'refused' : 'accepted';
}
