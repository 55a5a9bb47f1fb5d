/** Deeper nesting than this cannot be read: no schema of ours goes further. */
export const DEEPEST = 64;

/** Values in one body at most. The largest batch that makes sense, 500 mails to 300 people each, has a third fewer. */
export const MOST_VALUES = 500_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Looks over a JSON text before it is parsed: depth and number of values, without building anything. A text of millions of brackets is small on the wire,
 * but parsed it takes gigabytes and stops everything else for seconds. What is no JSON at all is left to the parser.
 */
export function scanJson(raw: Buffer): 'fine' | 'too deep' | 'too many' {
	let depth = 0;
	let values = 1;
	for (let at = 0; at < raw.length; at += 1) {
		const byte = raw[at];
		if (byte === QUOTE) {
			at = endOfString(raw, at + 1);
			if (at < 0) return 'fine';
		} else if (byte === COMMA) values += 1;
		else if (byte === 0x5b || byte === 0x7b) {
			depth += 1;
			values += 1;
			if (depth > DEEPEST) return 'too deep';
		} else if (byte === 0x5d || byte === 0x7d) depth -= 1;
		if (values > MOST_VALUES) return 'too many';
	}
	return 'fine';
}

/** The position of the quote that ends a string; -1 when there is none. */
function endOfString(raw: Buffer, from: number): number {
	for (let end = raw.indexOf(QUOTE, from); end >= 0; end = raw.indexOf(QUOTE, end + 1)) {
		let slashes = 0;
		while (end - slashes > from && raw[end - slashes - 1] === BACKSLASH) slashes += 1;
		if (slashes % 2 === 0) return end;
	}
	return -1;
}
