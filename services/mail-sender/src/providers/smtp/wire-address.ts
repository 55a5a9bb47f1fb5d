import { domainToASCII } from 'node:url';

/** An address as it may go over the wire. */
export type WireAddress = {
	readonly address: string;
	/** The domain as A-labels, in lower case. */
	readonly domain: string;
	/** The local part is not ASCII: only a server with SMTPUTF8 takes it (RFC 6531). */
	readonly utf8: boolean;
};

const LOCAL = /^[^\p{C}\p{Z}"(),:;<>@[\]\\]+$/u;
const PLAIN_DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const NOT_ASCII = /\P{ASCII}/u;

/** Checks one plain mailbox (`local@domain`, no quotes, comments, groups, literals); null when it is none. */
export function toWireAddress(address: string): WireAddress | null {
	const at = address.lastIndexOf('@');
	const local = address.slice(0, at);
	if (at < 1 || !LOCAL.test(local)) return null;
	const written = address.slice(at + 1);
	const domain = PLAIN_DOMAIN.test(written) ? written : domainToASCII(written);
	if (!PLAIN_DOMAIN.test(domain)) return null;
	return { address: `${local}@${domain}`, domain, utf8: NOT_ASCII.test(local) };
}
