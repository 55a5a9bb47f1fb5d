import { classifySmtp } from '@tidings/delivery';
import type { RecipientOutcome, Refusal, Stage } from '@tidings/model';
import type { SendMailOptions } from 'nodemailer';
import type { Mailbox, SmtpAttachment, SmtpMail, SmtpRecipient } from './mail.js';
import { toWireAddress, type WireAddress } from './wire-address.js';

/** One RCPT and whom it stands for: recipients with the same address share it. */
type Addressed = { readonly to: WireAddress; readonly ns: number[] };

/** A mail ready for the library, or the refusal when it cannot go out at all. */
export type Composed = {
	readonly addressed: readonly Addressed[];
	/** Open recipients whose address is none. */
	readonly refused: readonly RecipientOutcome[];
	/** The server must have SMTPUTF8. */
	readonly utf8: boolean;
	/** More than the socket takes at once. */
	readonly large: boolean;
	/** No part of it is a file. */
	readonly texts: boolean;
	readonly options: SendMailOptions;
};

/** Characters and bytes before encoding. */
const LARGE = 32_768;
const LINE_BREAK = /[\r\n\0]/;
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(;|$)/;
const NOT_SEVEN_BIT = /\P{ASCII}|\0|[^\r\n]{999}/u;

/**
 * Turns a mail into what the library composes from. The envelope holds the open recipients and nothing else; To and Cc show all
 * of theirs; Bcc is in no header. The same mail always gives the same bytes: id, date and boundaries come from the record.
 */
export function composeMail(mail: SmtpMail): Composed | Refusal {
	const sender = toWireAddress(mail.from.address);
	if (sender === null) return unfit('MAIL', 'EBADCONFIG', 'The From address is not one plain mail address.');
	const fault = faultOf(mail);
	if (fault !== null) return unfit('CONFIG', 'EBADMAIL', fault);
	const { addressed, refused } = addressOpen(mail.recipients);
	return {
		addressed,
		refused,
		utf8: sender.utf8 || addressed.some((one) => one.to.utf8),
		large: sizeOf(mail) > LARGE,
		texts: mail.attachments.length === 0,
		options: {
			envelope: { from: plain(sender), to: addressed.map((one) => plain(one.to)) },
			messageId: `<${mail.recordId}@${sender.domain}>`,
			date: mail.date,
			baseBoundary: mail.recordId,
			boundaryPrefix: '=_tidings',
			from: { address: sender.address, name: mail.from.name },
			to: shown(mail.recipients, 'to'),
			cc: shown(mail.recipients, 'cc'),
			replyTo: mail.replyTo === null ? undefined : shownAs(mail.replyTo),
			subject: mail.subject,
			headers: Object.entries(mail.headers).map(([key, value]) => ({ key, value })),
			text: withLineEnds(mail.text),
			html: withLineEnds(mail.html),
			attachments: mail.attachments.map(toAttachment),
		},
	};
}

/** Makes a refusal out of something that broke before or without a reply. */
export function unfit(stage: Stage, errno: string, text: string): Refusal {
	return {
		category: classifySmtp({ stage, code: null, enhancedCode: null, text, errno }).category,
		stage,
		code: null,
		enhancedCode: null,
		text,
	};
}

/** The library would fold a line break in a header into a space; a mail that needs that was never meant so. */
function faultOf(mail: SmtpMail): string | null {
	if (LINE_BREAK.test(mail.subject)) return 'The subject holds a line break or NUL.';
	for (const key in mail.headers) {
		if (!/^[!-9;-~]+$/.test(key) || LINE_BREAK.test(mail.headers[key] ?? '')) return 'A header holds a character that no header may hold.';
	}
	if (LINE_BREAK.test(mail.from.name) || LINE_BREAK.test(mail.replyTo?.name ?? '')) return 'A display name holds a line break or NUL.';
	if (mail.recipients.some((one) => LINE_BREAK.test(one.name))) return 'A display name holds a line break or NUL.';
	if (mail.attachments.some((one) => LINE_BREAK.test(one.filename) || LINE_BREAK.test(one.contentId ?? '')))
		return 'A file name holds a line break or NUL.';
	return null;
}

function addressOpen(recipients: readonly SmtpRecipient[]): { addressed: Addressed[]; refused: RecipientOutcome[] } {
	const byAddress = new Map<string, Addressed>();
	const refused: RecipientOutcome[] = [];
	for (const { n, address, open } of recipients) {
		if (!open) continue;
		const to = toWireAddress(address);
		if (to === null) {
			refused.push({ n, kind: 'refused', ...unfit('RCPT', 'EBADMAIL', 'This is not one plain mail address.') });
			continue;
		}
		const known = byAddress.get(to.address);
		if (known === undefined) byAddress.set(to.address, { to, ns: [n] });
		else known.ns.push(n);
	}
	return { addressed: [...byAddress.values()], refused };
}

/** Always an object, never a text: a text would be parsed as a list, and could become more than one address. */
function plain(to: WireAddress): Mailbox {
	return { address: to.address, name: '' };
}

function shown(recipients: readonly SmtpRecipient[], role: 'to' | 'cc'): Mailbox[] | undefined {
	const list: Mailbox[] = [];
	for (const one of recipients) {
		const mailbox = one.role === role ? shownAs(one) : undefined;
		if (mailbox !== undefined) list.push(mailbox);
	}
	return list.length === 0 ? undefined : list;
}

function shownAs(mailbox: Mailbox): Mailbox | undefined {
	const wire = toWireAddress(mailbox.address);
	return wire === null ? undefined : { address: wire.address, name: mailbox.name };
}

/** Mail has CRLF line ends only (RFC 5321 §2.3.8); DKIM signs what is written here, so they must be right before. */
function withLineEnds(text: string | null): string | undefined {
	return text === null ? undefined : text.replace(/\r\n?|\n/g, '\r\n');
}

function toAttachment(file: SmtpAttachment): { filename: string; contentType: string; content: Buffer; cid?: string } {
	const { filename, content } = file;
	const contentType = carries(file) ? file.contentType : 'application/octet-stream';
	return file.contentId === null ? { filename, contentType, content } : { filename, contentType, content, cid: file.contentId };
}

function sizeOf({ text, html, attachments }: SmtpMail): number {
	return attachments.reduce((sum, file) => sum + file.content.length, (text?.length ?? 0) + (html?.length ?? 0));
}

/** A part within the part (message, multipart) goes out without an encoding: only what needs none may say so. */
function carries({ contentType, content }: SmtpAttachment): boolean {
	if (!CONTENT_TYPE.test(contentType) || /^multipart\//i.test(contentType)) return false;
	return !/^message\//i.test(contentType) || !NOT_SEVEN_BIT.test(content.toString('latin1'));
}
