import type { Mailbox, NewAttachment, NewRecipient } from '@tidings/db';
import type { Lane } from '@tidings/model';

/** A mail as it was read out of a body. Only complete when there were no faults. */
export type MailDraft = {
	/** Where the mail stands in the body: the start of its pointers. */
	readonly at: string;
	readonly recipients: readonly NewRecipient[];
	/** Null: the server's own. */
	readonly from: Mailbox | null;
	readonly replyTo: Mailbox | null;
	readonly subject: string;
	readonly text: string | null;
	readonly html: string | null;
	readonly attachments: readonly NewAttachment[];
	readonly headers: Readonly<Record<string, string>>;
	readonly type: string;
	readonly lane: Lane;
	/** Null: what the tenant is. */
	readonly scope: 'TENANT' | 'PLATFORM' | null;
	readonly serverId: string | null;
	/** As the caller chose it. */
	readonly dedupeKey: string | null;
	readonly notBefore: Date | null;
	readonly validUntil: Date | null;
	readonly metadata: Readonly<Record<string, string>>;
};
