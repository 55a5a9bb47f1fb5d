import { type Fault, LIMITS } from '@tidings/model';
import { pointerTo } from '@tidings/runtime';
import { type Faults, rawOf } from '../checks/faults.js';
import { faultOfEncoding, faultOfLine, faultOfText } from '../checks/text.js';

const ALLOWED = /^(?:x-[a-z0-9_-]{1,74}|list-[a-z0-9-]{1,71}|auto-submitted|precedence|references|in-reply-to)$/i;

const NAMES_MAILS = /^(?:references|in-reply-to)$/i;
/** Visible ASCII without brackets, which readers of threads understand everywhere. */
const MESSAGE_IDS = /^<[!-;=?A-~]+@[!-;=?A-~]+>(?: +<[!-;=?A-~]+@[!-;=?A-~]+>)*$/;

/** Reads the caller's own headers: allowed names, each once in whatever case, one line each. */
export function readHeaders(value: unknown, at: string, faults: Faults): Record<string, string> {
	const headers: Record<string, string> = {};
	const seen = new Set<string>();
	for (const [name, text] of entriesOf(value, LIMITS.headers)) {
		const pointer = pointerTo(at, name);
		if (!ALLOWED.test(name)) {
			faults.add(
				pointer,
				'header-not-allowed',
				'Only `X-*`, `List-*`, `Auto-Submitted`, `Precedence`, `References` and `In-Reply-To` may be set.',
			);
			continue;
		}
		if (seen.has(name.toLowerCase()))
			faults.add(pointer, 'duplicate', 'This header stands twice; upper and lower case make no difference.');
		seen.add(name.toLowerCase());
		if (faults.isTooLong(pointer)) continue;
		const fault = faultOfHeader(name, text);
		if (fault === null) headers[name] = text;
		else faults.add(pointer, fault.code, fault.detail);
	}
	return headers;
}

function faultOfHeader(name: string, text: string): Omit<Fault, 'pointer'> | null {
	const control = faultOfLine(text);
	if (control !== null) return { code: 'control-character', detail: control };
	if (name.length + ': '.length + text.length > LIMITS.headerValue)
		return { code: 'too-long', detail: `The whole line, with the name of the header, may have at most ${LIMITS.headerValue} characters.` };
	const encoded = faultOfEncoding(text);
	if (encoded !== null) return { code: 'bad-format', detail: encoded };
	if (NAMES_MAILS.test(name) && !MESSAGE_IDS.test(text))
		return { code: 'bad-format', detail: 'This must be one or more message ids, such as `<id@example.com>`, with spaces between them.' };
	return null;
}

/** Reads the caller's own marks. */
export function readMetadata(value: unknown, at: string, faults: Faults): Record<string, string> {
	const metadata: Record<string, string> = {};
	for (const [key, text] of entriesOf(value, LIMITS.metadataKeys)) {
		const pointer = pointerTo(at, key);
		if (key === '__proto__') faults.add(pointer, 'unknown-field', 'This cannot be the name of a mark.');
		else if (key === '') faults.add(pointer, 'too-short', 'The name of a mark may not be empty.');
		else if (key.length > LIMITS.metadataKey)
			faults.add(pointer, 'too-long', `The name of a mark may have at most ${LIMITS.metadataKey} characters.`);
		if (faults.isTooLong(pointer)) continue;
		const fault = faultOfLine(key) ?? faultOfText(text);
		if (fault === null) metadata[key] = text;
		else faults.add(pointer, 'control-character', fault);
	}
	return metadata;
}

function entriesOf(value: unknown, most: number): [string, string][] {
	const entries = Object.entries(rawOf(value) ?? {}).slice(0, most);
	return entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
