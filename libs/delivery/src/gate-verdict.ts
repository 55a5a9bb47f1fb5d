import { isAtDoor, type Outcome, type RecipientOutcome, type Refusal } from '@tidings/model';

/** What an attempt says about the door that it went through. */
export type GateVerdict =
	/** Nobody gets through before something is mended, or for `seconds`. */
	| { readonly kind: 'close'; readonly reason: 'AUTH' | 'CONFIG' | 'QUOTA'; readonly refusal: Refusal; readonly seconds: number | null }
	/** The provider could not be reached, or was not ready to talk: once is nothing, several times in a row is. */
	| { readonly kind: 'strike'; readonly refusal: Refusal }
	/** The provider talked to us about this very message: it works. */
	| { readonly kind: 'alive' }
	| { readonly kind: 'nothing' };

const NOTHING: GateVerdict = { kind: 'nothing' };

/**
 * Reads the verdict from an outcome (design §7: gates are the breaker). Only what was refused to every recipient alike is about the provider. `quotaFloorSeconds`: how long a spent allowance
 * is left alone when the provider does not say.
 */
export function gateVerdict(outcome: Outcome, quotaFloorSeconds: number): GateVerdict {
	if (outcome.kind !== 'answered' || outcome.recipients.length === 0) return NOTHING;
	const refusals = outcome.recipients.filter(isRefused);
	const [refusal] = refusals;
	if (refusal === undefined || refusals.length < outcome.recipients.length) return { kind: 'alive' };
	const every = (fits: (one: Refusal) => boolean): boolean => refusals.every(fits);
	if (every((one) => one.category === 'AUTH')) return { kind: 'close', reason: 'AUTH', refusal, seconds: null };
	// A final no that no row of the table knows, said before a mail is named, is about us: `550 account disabled`.
	if (every((one) => (one.category === 'CONFIG' || one.category === 'PERMANENT') && (isAtDoor(one.stage) || isUnready(one))))
		return { kind: 'close', reason: 'CONFIG', refusal, seconds: null };
	if (every((one) => (one.category === 'TRANSIENT' || one.category === 'UNKNOWN') && isAtDoor(one.stage)))
		return { kind: 'strike', refusal };
	if (every(isAccountQuota)) {
		const seconds = Math.max(quotaFloorSeconds, ...refusals.map((one) => one.retryAfterSeconds ?? 0));
		return { kind: 'close', reason: 'QUOTA', refusal, seconds };
	}
	// A cut line says nothing; an answer about the mail says that all before it worked.
	return refusals.some((one) => one.code !== null && !isAtDoor(one.stage)) ? { kind: 'alive' } : NOTHING;
}

/** Something has to come before the first mail, such as STARTTLS (RFC 3207 §4): no sender would be taken. */
function isUnready({ stage, code }: Refusal): boolean {
	return stage === 'MAIL' && code === '530';
}

/** A mailbox that receives too quickly (x.2.1) is that recipient's own; every other allowance is the account's. */
function isAccountQuota({ category, stage, enhancedCode }: Refusal): boolean {
	return category === 'QUOTA' && !(stage === 'RCPT' && /\.2\.1$/.test(enhancedCode ?? ''));
}

function isRefused(one: RecipientOutcome): one is Extract<RecipientOutcome, { kind: 'refused' }> {
	return one.kind === 'refused';
}
