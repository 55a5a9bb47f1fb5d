/** A mail address with the name shown beside it; an empty name shows the address alone. */
export type Mailbox = { readonly address: string; readonly name: string };

/** One recipient of a mail. */
export type SmtpRecipient = Mailbox & {
	/** The recipient's number within its record; outcomes carry it. */
	readonly n: number;
	readonly role: 'to' | 'cc' | 'bcc';
	/** Whether this attempt addresses it. The others still stand in the headers, so that a retry sends the same bytes. */
	readonly open: boolean;
};

/** A file that goes with a mail; with a `contentId` the HTML may show it by `cid:`. */
export type SmtpAttachment = {
	readonly filename: string;
	readonly contentType: string;
	readonly content: Buffer;
	readonly contentId: string | null;
};

/** A mail as it is rendered and stored: everything that the bytes on the wire depend on. */
export type SmtpMail = {
	/** The delivery id: Message-ID and MIME boundaries come from it. */
	readonly recordId: string;
	/** When the record was made: the Date header, the same at every attempt. */
	readonly date: Date;
	readonly from: Mailbox;
	readonly replyTo: Mailbox | null;
	readonly recipients: readonly SmtpRecipient[];
	readonly subject: string;
	readonly text: string | null;
	readonly html: string | null;
	/** Further headers of the caller, checked at acceptance. */
	readonly headers: Readonly<Record<string, string>>;
	readonly attachments: readonly SmtpAttachment[];
};
