import type { Channel, Lane, MonthlyCaps, QuotaChannel, QuotaLevel, Route } from '@tidings/model';

/** A recipient of a record to be accepted. */
export type NewRecipient = {
	readonly role: 'to' | 'cc' | 'bcc';
	readonly address: string;
	readonly name: string | null;
	/** SHA-256 of the normalised address. */
	readonly addressHash: Buffer;
};

/** An attachment of a record to be accepted. */
export type NewAttachment = {
	readonly filename: string;
	readonly contentType: string;
	readonly contentId: string | null;
	readonly content: Buffer;
};

/** A person or mailbox as it stands in a header. */
export type Mailbox = { readonly address: string; readonly name: string | null };

/** One record to be accepted: everything that is stored about it, checked before. */
export type NewRecord = {
	readonly id: string;
	readonly tenantId: string;
	readonly channel: Channel;
	readonly route: Route;
	readonly lane: Lane;
	readonly type: string;
	readonly scope: 'TENANT' | 'PLATFORM';
	readonly configId: string;
	readonly configTier: 'TENANT' | 'PLATFORM';
	readonly metadata: Readonly<Record<string, string>>;
	readonly traceId: string;
	readonly traceparent: string;
	/** As stored: `{key}:{CHANNEL}:{sha256}`; null when the caller chose none. */
	readonly dedupeKey: string | null;
	readonly notBefore: Date | null;
	readonly validUntil: Date | null;
	/** Without `validUntil`: seconds from the first due time after which it is of no use. */
	readonly maxAgeSeconds: number;
	/** Attempts that may burn, by the policy of the type at acceptance. */
	readonly budgetMax: number;
	readonly subject: string;
	readonly text: string | null;
	readonly html: string | null;
	readonly from: Mailbox;
	readonly replyTo: Mailbox | null;
	readonly headers: Readonly<Record<string, string>>;
	readonly recipients: readonly NewRecipient[];
	readonly attachments: readonly NewAttachment[];
};

/** An idempotency key of one caller: unique per tenant and operation, bound to a body by its SHA-256. */
export type IdempotencyKey = { readonly tenantId: string; readonly operation: string; readonly key: string; readonly bodySha256: Buffer };

/** What one caller wants accepted: all of it or nothing. */
export type AcceptRequest = { readonly records: readonly NewRecord[]; readonly idempotency: IdempotencyKey | null };

/** What an accepted caller is told, and told again when it repeats its key. */
export type Accepted = {
	/** One id for each record, in order; an earlier record's where it was a duplicate. */
	readonly ids: readonly string[];
	/** Positions that a dedupeKey found to be there already. */
	readonly deduplicated: readonly number[];
	/** RFC 3339. */
	readonly createdAt: string;
};

/** How an accepting transaction ended for one caller. */
export type AcceptResult =
	| ({ readonly kind: 'accepted' } & Accepted)
	| ({ readonly kind: 'replayed' } & Accepted)
	/** The idempotency key was used for another body. */
	| { readonly kind: 'mismatch' }
	/** A twin holds one of the keys right now. */
	| { readonly kind: 'in-flight' }
	| ({ readonly kind: 'over-quota' } & QuotaRefusal);

/** How records are counted. */
export type QuotaRule = {
	/** The caps of tenants for whom nothing is set. */
	readonly caps: MonthlyCaps;
	/** Counted, and warned of, but never refused: for what operators must hear although a quota is used up. */
	readonly beyond: boolean;
};

/** Why a request is over the monthly quota. */
export type QuotaRefusal = {
	readonly channel: QuotaChannel;
	/** `PLATFORM`: the platform's own quota. */
	readonly scope: 'TENANT' | 'PLATFORM';
	/** As `2026-11`, in UTC. */
	readonly month: string;
	/** What is used of the cap, without this request; and what this request costs of it. */
	readonly used: number;
	readonly cap: number;
	readonly cost: number;
	/** The first record that does not fit. */
	readonly index: number;
};

/** A share of a cap that was reached for the first time in its month. */
export type QuotaWarning = {
	/** Whose quota it is. */
	readonly tenantId: string;
	readonly channel: QuotaChannel;
	readonly month: string;
	/** In percent. */
	readonly level: QuotaLevel;
	readonly used: number;
	readonly cap: number;
};

/** Records expire this long after their first due time when the caller gives no `validUntil` and the operator has set no age for the tenant. */
export const DEFAULT_AGE_SECONDS = 72 * 3600;
