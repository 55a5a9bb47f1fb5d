import { encode as encodeBase64, wrap as wrapBase64 } from 'nodemailer/lib/base64';
import type MimeNode from 'nodemailer/lib/mime-node';
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp';

/**
 * Writes a mail whose parts are all texts as one piece, with the bytes of the library's own stream. That stream is a chain of several for each part;
 * for a mail of a few kilobytes they cost more than composing it and talking to the server together.
 */
export function writeWhole(mail: MimeNode): string {
	const text = writeNode(mail);
	return text.endsWith('\n') ? text : `${text}\r\n`;
}

function writeNode(node: MimeNode): string {
	const start = `${node.buildHeaders()}\r\n\r\n${writeContent(node)}`;
	if (!node.multipart) return start;
	const parts = node.childNodes.map((child) => `--${node.boundary}\r\n${writeNode(child)}`);
	return `${start}${parts.join('\r\n')}\r\n--${node.boundary}--\r\n`;
}

function writeContent(node: MimeNode): string {
	const { content } = node;
	if (!content) return '';
	if (typeof content !== 'string') throw new TypeError('a part that is no text cannot be written in one piece');
	switch (node.getTransferEncoding()) {
		case 'quoted-printable':
			return writeQuoted(content);
		case 'base64':
			return wrapBase64(encodeBase64(content));
		default:
			return content;
	}
}

/** The library's stream holds back the blanks at the very end, and wraps the last line again when it adds them. */
function writeQuoted(content: string): string {
	let end = content.length;
	while (end > 0 && (content[end - 1] === ' ' || content[end - 1] === '\t')) end -= 1;
	const wrapped = wrapQuoted(encodeQuoted(content.slice(0, end)));
	if (end === content.length) return wrapped;
	const last = wrapped.lastIndexOf('\n') + 1;
	return wrapped.slice(0, last) + wrapQuoted(wrapped.slice(last) + encodeQuoted(content.slice(end)));
}
