import type { NewAttachment } from '@tidings/db';
import { LIMITS, Problem } from '@tidings/model';
import { pointerTo } from '@tidings/runtime';
import { type Faults, lineOf, listOf, type Raw, rawOf } from '../checks/faults.js';
import { faultOfEncoding } from '../checks/text.js';

const TOKEN = "[A-Za-z0-9!#$&'*+.^_`{|}~-]+";
/** A media type with parameters of which none can break out of its header. */
const CONTENT_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?: *; *${TOKEN}=(?:${TOKEN}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]*"))*$`);
const CONTENT_ID = /^[A-Za-z0-9._%+@-]+$/;
/** Marks that turn the direction of writing, so that `gnp.exe` reads `exe.png`; joiners, which scripts and emoji need, are not among them. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const OCTET_STREAM = 'application/octet-stream';

/** Reads the attachments. Throws 413 when they are too large together: to look further would decode them. */
export function readAttachments(value: unknown, at: string, faults: Faults): NewAttachment[] {
	const list = listOf(value, LIMITS.attachments);
	const bytes = list.reduce((sum: number, one) => sum + decodedLength(rawOf(one)?.['content']), 0);
	if (bytes > LIMITS.attachmentBytes) {
		throw new Problem(
			'body-too-large',
			`The attachments ${at} have ${bytes} bytes decoded; at most ${LIMITS.attachmentBytes} are taken for one mail.`,
		);
	}
	const seen = new Set<string>();
	return list.flatMap((one, index) => {
		const raw = rawOf(one);
		const read = raw === null ? null : readAttachment(raw, pointerTo(at, index), faults);
		if (read?.contentId != null) {
			if (seen.has(read.contentId)) faults.add(`${pointerTo(at, index)}/contentId`, 'duplicate', 'Another attachment has this contentId.');
			seen.add(read.contentId);
		}
		return read ?? [];
	});
}

function readAttachment(raw: Raw, at: string, faults: Faults): NewAttachment | null {
	const filename = readFileName(raw, at, faults);
	const contentType = readContentType(raw, at, faults);
	const contentId = lineOf(raw, 'contentId', at, faults);
	if (contentId !== null && !CONTENT_ID.test(contentId))
		faults.add(`${at}/contentId`, 'bad-format', 'A contentId holds ASCII letters, digits and `._%+@-`, without angle brackets.');
	const content = readContent(raw['content'], `${at}/content`, faults);
	return filename === null || content === null ? null : { filename, contentType, contentId, content };
}

function readFileName(raw: Raw, at: string, faults: Faults): string | null {
	const given = lineOf(raw, 'filename', at, faults);
	if (given === null) return null;
	const clean = cleanFileName(given);
	const encoded = faultOfEncoding(clean);
	if (encoded !== null) faults.add(`${at}/filename`, 'bad-format', encoded);
	if (clean === '') faults.add(`${at}/filename`, 'bad-format', 'Nothing is left of this name without folders and dots.');
	return clean;
}

/** A name without folders and direction marks, at most 255 bytes, its extension kept. Empty when nothing is left. */
export function cleanFileName(given: string): string {
	const name = (given.split(/[/\\]/).at(-1) ?? '')
		.replaceAll(BIDI, '')
		.replace(/^[A-Za-z]:/, '')
		.trim();
	if (/^\.*$/.test(name)) return '';
	const dot = name.lastIndexOf('.');
	const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : '';
	const room = LIMITS.fileName - Buffer.byteLength(extension);
	return clip(name.slice(0, name.length - extension.length), room) + extension;
}

function clip(text: string, bytes: number): string {
	if (Buffer.byteLength(text) <= bytes) return text;
	let clipped = '';
	let left = bytes;
	for (const character of text) {
		left -= Buffer.byteLength(character);
		if (left < 0) break;
		clipped += character;
	}
	return clipped;
}

function readContentType(raw: Raw, at: string, faults: Faults): string {
	const given = lineOf(raw, 'contentType', at, faults);
	if (given === null) return OCTET_STREAM;
	const isRight = given.length <= LIMITS.contentType && CONTENT_TYPE.test(given) && !/^multipart\//i.test(given);
	if (!isRight)
		faults.add(`${at}/contentType`, 'bad-format', 'This is not a media type such as `application/pdf`; `multipart/*` cannot be attached.');
	return given;
}

function readContent(value: unknown, at: string, faults: Faults): Buffer | null {
	if (typeof value !== 'string') return null;
	const content = Buffer.from(value, 'base64');
	// What is written back the same was strict base64: no line breaks, no other alphabet, no missing padding.
	if (content.toString('base64') === value) return content;
	faults.add(
		at,
		'bad-base64',
		'This is not base64 (RFC 4648 §4): padding is needed, and no line breaks or other characters may stand in it.',
	);
	return null;
}

function decodedLength(content: unknown): number {
	if (typeof content !== 'string') return 0;
	const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
	return Math.max(0, Math.floor((content.length * 3) / 4) - padding);
}
