import { createReadStream } from 'node:fs';
import { type AddressObject, type EmailAddress, type HeaderValue, type ParsedMail, simpleParser } from 'mailparser';
import type { MailSummary } from './mail-summary.js';

/** A mailbox of a header; `name` is empty when there is none. */
export type Mailbox = { name: string; address: string };

/** An attachment or inline part, without its bytes: `index` is its place in the mail and in the address it is fetched from. */
export type AttachmentInfo = {
	index: number;
	filename: string;
	contentType: string;
	size: number;
	contentId: string | null;
	inline: boolean;
};

/** A whole mail, decoded. `headers` has lower-case names, a repeated one as an array; `headerLines` all of them in order, unfolded. */
export type MailDetail = Omit<MailSummary, 'from' | 'to' | 'envelopeFrom'> & {
	envelope: { from: string; to: string[] };
	from: Mailbox | null;
	to: Mailbox[];
	cc: Mailbox[];
	replyTo: Mailbox[];
	date: string | null;
	headers: Record<string, string | string[]>;
	headerLines: { name: string; value: string }[];
	text: string | null;
	html: string | null;
	attachments: AttachmentInfo[];
};

/** Parses a mail file. `cid:` pictures in the HTML become `data:` ones. Rejects when the file is gone or is nothing that can be parsed. */
export function parseMail(path: string): Promise<ParsedMail> {
	return simpleParser(createReadStream(path), {
		keepDeliveryStatus: true,
		ignoreEmbedded: true,
		checksumAlgo: false,
		skipTextToHtml: true,
	});
}

/** The parsed mail in the words of the catcher's API; `html` keeps its `cid:` pictures as `data:` ones. */
export function describeMail(summary: MailSummary, mail: ParsedMail): MailDetail {
	const { id, subject, receivedAt, messageId, size } = summary;
	const headerLines = readHeaderLines(mail);
	return {
		...{ id, subject, receivedAt, messageId, size },
		envelope: { from: summary.envelopeFrom, to: summary.to },
		from: mailboxes(mail.from)[0] ?? null,
		to: mailboxes(mail.to),
		cc: mailboxes(mail.cc),
		replyTo: mailboxes(mail.replyTo),
		date: mail.date?.toISOString() ?? null,
		headers: groupHeaders(headerLines),
		headerLines,
		text: mail.text ?? null,
		html: mail.html || null,
		attachments: mail.attachments.map((part, index) => ({
			index,
			filename: part.filename ?? `part-${index + 1}`,
			contentType: part.contentType,
			size: part.size,
			contentId: part.cid ?? null,
			inline: part.contentDisposition !== 'attachment' && part.cid !== undefined,
		})),
	};
}

function mailboxes(lists: AddressObject | AddressObject[] | undefined): Mailbox[] {
	const flatten = (one: EmailAddress): EmailAddress[] => one.group?.flatMap(flatten) ?? [one];
	return [lists ?? []].flat().flatMap((list) => list.value.flatMap(flatten).map(({ name, address }) => ({ name, address: address ?? '' })));
}

function readHeaderLines(mail: ParsedMail): { name: string; value: string }[] {
	const seen = new Map<string, number>();
	return mail.headerLines.map(({ key, line }) => {
		const nth = seen.get(key) ?? 0;
		seen.set(key, nth + 1);
		const colon = line.indexOf(':');
		const raw = line
			.slice(colon + 1)
			.replace(/\r?\n(?=[ \t])/g, '')
			.trim();
		return { name: line.slice(0, colon), value: decoded(mail.headers.get(key), nth) ?? raw };
	});
}

// Structured values (a content type, a list header) are shown as they were written.
function decoded(value: HeaderValue | undefined, nth: number): string | undefined {
	const one = Array.isArray(value) ? value[nth] : nth === 0 ? value : undefined;
	if (typeof one === 'string') return one;
	return one !== undefined && 'html' in one && typeof one.text === 'string' ? one.text : undefined;
}

function groupHeaders(lines: readonly { name: string; value: string }[]): Record<string, string | string[]> {
	const grouped = new Map<string, string[]>();
	for (const { name, value } of lines) grouped.set(name.toLowerCase(), [...(grouped.get(name.toLowerCase()) ?? []), value]);
	return Object.fromEntries([...grouped].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]));
}
