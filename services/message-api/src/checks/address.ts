import { hash } from 'node:crypto';
import { domainToASCII } from 'node:url';

/** What a part of a local part may hold (RFC 5321 atext), and beyond ASCII what RFC 6531 adds, less what nobody can see. */
const LOCAL = /^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\x00-\x7f])+(?:\.(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\x00-\x7f])+)*$/u;
const UNSEEN = /[\p{C}\p{Z}]/u;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** An IP address in disguise: no domain ends in a number. */
const NUMERIC_END = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;
const LOCAL_OCTETS = 64;
const ADDRESS_LENGTH = 320;
const DOMAIN_LENGTH = 253;

/**
 * Reads one plain mailbox and returns it as it is stored: trimmed, the domain in lower case and as A-labels (IDNA), the local part as given.
 * Null for everything else: lists, groups, comments, display names, quoted local parts, IP literals, what is too long.
 * A local part beyond ASCII is taken: whether it can be delivered (RFC 6531) shows at delivery.
 */
export function readAddress(text: string): string | null {
	// First of all: the patterns take far longer for long texts.
	if (text.length > ADDRESS_LENGTH) return null;
	const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, '');
	const at = trimmed.lastIndexOf('@');
	if (at < 1) return null;
	const local = trimmed.slice(0, at);
	if (!LOCAL.test(local) || Buffer.byteLength(local) > LOCAL_OCTETS || (isNotAscii(local) && UNSEEN.test(local))) return null;
	const domain = readDomain(trimmed.slice(at + 1));
	return domain === null ? null : `${local}@${domain}`;
}

/** Reads a domain name: lower case, A-labels. Null when it is none, or an IP address. */
export function readDomain(text: string): string | null {
	if (text.length > DOMAIN_LENGTH) return null;
	const lower = text.toLowerCase();
	const ascii = isNotAscii(lower) ? toAscii(lower) : lower;
	return DOMAIN.test(ascii) && !NUMERIC_END.test(ascii) ? ascii : null;
}

/** Only letters, digits, hyphens and dots of ASCII may stand beside the others: the converter reads the rest as parts of a URL. */
function toAscii(domain: string): string {
	return /[\x00-\x7f]/.test(domain.replaceAll(/[a-z0-9.-]/g, '')) ? '' : domainToASCII(domain);
}

function isNotAscii(text: string): boolean {
	return /[^\x00-\x7f]/.test(text);
}

/** The SHA-256 by which records are found by address. */
export function hashOfAddress(address: string): Buffer {
	return hash('sha256', address, 'buffer');
}

/** A dedupe key as it is stored: the caller's key, the channel, and the SHA-256 of the sorted To addresses joined by LF. */
export function storedDedupeKey(key: string, addresses: readonly string[]): string {
	return `${key}:MAIL:${hash('sha256', [...addresses].sort().join('\n'), 'hex')}`;
}

/** An address as those see it who may not read content: `j•••@example.com`. */
export function maskAddress(address: string): string {
	const at = address.lastIndexOf('@');
	const [first = ''] = address;
	return at < 1 ? '•••' : `${first}•••${address.slice(at)}`;
}

/** A stored dedupe key without the hash of its addresses, by which an address could be guessed. */
export function maskDedupeKey(stored: string): string {
	return stored.replace(/:MAIL:[0-9a-f]{64}$/, ':MAIL:•••');
}

/**
 * Makes what masks a provider's answer: every address in it, and every word of the local parts of `addresses`, in whatever case: servers like to repeat whom they refuse,
 * some as `user ann`. Words of one character tell nothing that a mask does not.
 */
export function createMaskAnswer(addresses: readonly string[]): (answer: string) => string {
	const words = new Set(
		addresses
			.flatMap((address) => address.slice(0, address.lastIndexOf('@')).toLowerCase().match(WORDS) ?? [])
			.filter((word) => word.length > 1),
	);
	const maskWord = (word: string): string => (words.has(word.toLowerCase()) ? maskAddress(`${word}@`).slice(0, -1) : word);
	return (answer) => maskAddressesIn(answer.replaceAll(WORDS, maskWord));
}

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;

/** A text with every address in it masked. */
export function maskAddressesIn(text: string): string {
	return text.replaceAll(PIECES, (piece) => (isAddress(piece) ? maskAddress(piece) : piece));
}

/** What can be an address, whole or not at all. One pass: a pattern with the `@` in its middle is tried anew from each character of a text that has none. */
const PIECES = /[^\s<>()[\]"',;:]+/gu;

function isAddress(piece: string): boolean {
	const at = piece.indexOf('@', 1);
	return at > 0 && at < piece.length - 1;
}
