/** What may not stand in one line: every control character, the Unicode line breaks, lone surrogates (which PostgreSQL and the wire refuse). */
const NOT_IN_A_LINE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|\p{Surrogate}/u;

/** What may not stand in a text of several lines: the same without tab, CR, LF, the C1 range and the Unicode line breaks. */
const NOT_IN_A_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\p{Surrogate}/u;

/** The same for readers of the document: what `faultOfLine` and `faultOfText` refuse. */
export const LINE_FORM = { 'x-document': { pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$` } };
export const TEXT_FORM = { 'x-document': { pattern: String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$` } };

/** Says what is wrong with a text that must be one line, such as a subject or a name; null when nothing is. */
export function faultOfLine(text: string): string | null {
	return describe(NOT_IN_A_LINE.exec(text), 'Control characters, line breaks and lone surrogates may not stand here');
}

/** Says what is wrong with a text that may have several lines, such as a body; null when nothing is. */
export function faultOfText(text: string): string | null {
	return describe(NOT_IN_A_TEXT.exec(text), 'Control characters other than tab, CR and LF, and lone surrogates, may not stand here');
}

/** What mail programs decode, so that people would see another name, or an address, than the one that was given (RFC 2047). */
const ENCODED_WORD_START = /=\?[^?]+\?[bq]\?/i;

/** Says that a text holds an encoded word; null when it does not. */
export function faultOfEncoding(text: string): string | null {
	const start = ENCODED_WORD_START.exec(text);
	if (start === null || !text.includes('?=', start.index + start[0].length)) return null;
	return 'This must not hold an encoded word (`=?…?…?=`): give the text as it is to be read.';
}

function describe(match: RegExpExecArray | null, rule: string): string | null {
	if (match === null) return null;
	const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
	return `${rule}: U+${code} at character ${match.index}.`;
}
