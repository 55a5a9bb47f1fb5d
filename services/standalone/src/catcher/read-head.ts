import { simpleParser } from 'mailparser';

/** The three header fields of the list, decoded; empty when the mail has none. */
export type Head = { from: string; subject: string; messageId: string; to: string[] };

const NEEDED = /^(from|to|subject|message-id):/i;

/** Reads the head of a mail out of its first bytes. Never throws: an unreadable head is empty. */
export async function readHead(start: Buffer): Promise<Head> {
	const end = start.indexOf('\r\n\r\n');
	const lines = start.toString('latin1', 0, end < 0 ? start.length : end).split(/\r?\n(?![ \t])/);
	// Parsing costs more than all else that is done for a small mail, so the parser sees these few lines only.
	const head = Buffer.from(`${lines.filter((line) => NEEDED.test(line)).join('\r\n')}\r\n\r\n`, 'latin1');
	try {
		const mail = await simpleParser(head, { skipHtmlToText: true, skipTextToHtml: true, checksumAlgo: false });
		const to = [mail.to ?? []].flat().flatMap((list) => list.value.flatMap((one) => one.group ?? one));
		return {
			from: mail.from?.text ?? '',
			subject: mail.subject ?? '',
			messageId: mail.messageId ?? '',
			to: to.flatMap((one) => one.address ?? []),
		};
	} catch {
		return { from: '', subject: '', messageId: '', to: [] };
	}
}
