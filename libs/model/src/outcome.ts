/** Why a provider's answer was not a yes. */
export const CATEGORIES = ['TRANSIENT', 'QUOTA', 'UNKNOWN', 'PERMANENT', 'INVALID_INPUT', 'AUTH', 'CONFIG'] as const;
export type Category = (typeof CATEGORIES)[number];

/** How far the conversation with the provider had come when it ended. SMTP stages (RFC 5321) and what lies before them. */
export const STAGES = ['CONFIG', 'CONN', 'TLS', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'DOT'] as const;
export type Stage = (typeof STAGES)[number];

const DOOR: readonly Stage[] = ['CONFIG', 'CONN', 'TLS', 'EHLO', 'AUTH'];

/** Whether a stage comes before a mail is named: what is refused there is refused to all, and is about no recipient. */
export function isAtDoor(stage: Stage): boolean {
	return DOOR.includes(stage);
}

/** A provider's no, as a person will read it. `text` is the provider's own, cleaned of control characters, at most 1,000 characters. */
export type Refusal = {
	readonly category: Category;
	readonly stage: Stage;
	/** Basic reply code, such as `550`; null when the provider said nothing. */
	readonly code: string | null;
	/** Enhanced status code (RFC 3463), such as `5.1.1`; null when there was none. */
	readonly enhancedCode: string | null;
	readonly text: string;
	/** The answer says that the recipient's address itself is bad: only such may feed a suppression. Absent: it is about something else. */
	readonly aboutAddress?: true;
	/** The provider asks to be left alone for so many seconds; more than 24 h counts as 24 h, and what is no such number as absent. */
	readonly retryAfterSeconds?: number;
};

/** What became of one recipient in one attempt. */
export type RecipientOutcome =
	| {
			readonly n: number;
			readonly kind: 'accepted';
			readonly code: string | null;
			readonly enhancedCode: string | null;
			readonly text: string;
	  }
	| ({ readonly n: number; readonly kind: 'refused' } & Refusal);

/**
 * What a provider answered to one attempt. Providers return it; they never throw for a "no".
 * - `answered`: one outcome for each recipient that was addressed
 * - `ambiguous`: everything was handed over and no clear answer came; nobody knows whether it was accepted. `known`: recipients whose own answer is clear all the same
 * - `withheld`: the hand-over mark was lost, so nothing was sent and somebody else owns the record now
 * - `given-back`: the sender ended the attempt before all was handed over, for it stops or has too little time, so nothing was sent; it costs nothing
 */
export type Outcome =
	| { readonly kind: 'answered'; readonly recipients: readonly RecipientOutcome[]; readonly providerMessageId: string | null }
	| ({ readonly kind: 'ambiguous'; readonly known?: readonly RecipientOutcome[] } & Refusal)
	| { readonly kind: 'withheld' }
	| { readonly kind: 'given-back' };
