/** An SMTP reply taken apart. `text` is for people: one line, no control characters, at most 1,000 characters, without the codes. */
export type Reply = { readonly code: string | null; readonly enhancedCode: string | null; readonly text: string };

const MOST_CHARACTERS = 1_000;
const CODE = /^([2-5]\d\d)(?:[ -]|$)/;
const ENHANCED = /^([245]\.\d{1,3}\.\d{1,3})(?=\s|$)/;

/** Takes a reply of one or several lines apart (RFC 5321 §4.2, RFC 3463). What does not begin with a reply code has `code` null. */
export function parseReply(reply: string): Reply {
	let code: string | null = null;
	let enhancedCode: string | null = null;
	const words: string[] = [];
	for (const line of reply.slice(0, 8 * MOST_CHARACTERS).split(/\r\n|\r|\n/)) {
		const found = CODE.exec(line);
		let rest = line;
		if (found !== null) {
			code ??= found[1] ?? null;
			rest = line.slice(found[0].length);
			const enhanced = ENHANCED.exec(rest)?.[1];
			if (enhanced !== undefined) {
				enhancedCode ??= enhanced;
				rest = rest.slice(enhanced.length);
			}
		}
		words.push(rest);
	}
	return { code, enhancedCode, text: cleanText(words.join(' ')) };
}

/** A text that somebody else wrote, made fit for storing and showing: one line, no control characters, at most 1,000 characters. */
export function cleanText(text: string): string {
	const clean = text
		.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
		.replace(/ {2,}/g, ' ')
		.trim();
	if (clean.length <= MOST_CHARACTERS) return clean;
	const cut = clean.slice(0, MOST_CHARACTERS);
	// A pair that the cut would halve goes as a whole: PostgreSQL takes no lone surrogate.
	return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}
