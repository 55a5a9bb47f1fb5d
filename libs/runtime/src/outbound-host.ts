import { lookup as dnsLookup } from 'node:dns/promises';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { within } from './within.js';

/** One address that may be dialled. */
export type OutboundAddress = { readonly address: string; readonly family: 4 | 6 };

/**
 * Whether a host may be dialled. `allowed`: dial one of these addresses and nothing else, so that a second answer of the DNS cannot lead elsewhere.
 * `refused`: never dial it; `unresolved`: the name has no address now. Reasons name no address, so a tenant may read them.
 */
export type OutboundHost =
	| { readonly kind: 'allowed'; readonly addresses: readonly [OutboundAddress, ...OutboundAddress[]] }
	| { readonly kind: 'refused'; readonly reason: string }
	| { readonly kind: 'unresolved'; readonly reason: string };

/** How a host is checked. */
export type OutboundHostOptions = {
	/** Whether private, loopback and link-local addresses pass too. */
	readonly allowPrivate: boolean;
	/** The addresses of a name; rejects when there is none. Default: the system's resolver. */
	readonly lookup?: (name: string) => Promise<readonly string[]>;
	/** How long a look-up may take; default 5000. */
	readonly timeoutMs?: number;
};

/** What IANA has given out for unicast on the internet so far: anything outside is no address to dial, whatever it may become. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Public by its number, but answered by the host of a virtual machine (Azure): as inward as 169.254.169.254. */
const WIRE_SERVER = '168.63.129.16';
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Resolves a host that a tenant gave (a name, or an address in any spelling) and checks every address it has. One that may not be dialled refuses the host. Never rejects. */
export async function checkOutboundHost(host: string, options: OutboundHostOptions): Promise<OutboundHost> {
	const named = readHost(host);
	if (named === null) return { kind: 'refused', reason: 'this is not a host name or an IP address' };
	if (named.kind === 'literal') return judge([named.address], options.allowPrivate);
	const resolved = await resolve(named.name, options);
	if (typeof resolved === 'string') return { kind: 'unresolved', reason: resolved };
	return judge(resolved, options.allowPrivate);
}

/** Reads the host as a browser would: hexadecimal, octal, short and full-width spellings of an address are that address. */
function readHost(host: string): { kind: 'literal'; address: string } | { kind: 'name'; name: string } | null {
	const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
	if (bare.includes(':')) return ipaddr.IPv6.isValid(bare) && !bare.includes('%') ? { kind: 'literal', address: bare } : null;
	if (bare !== host || /[\s/\\?#@%]/.test(host)) return null;
	const ascii = domainToASCII(host);
	const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
	if (ipaddr.IPv4.isValidFourPartDecimal(name)) return { kind: 'literal', address: name };
	return HOST_NAME.test(name) ? { kind: 'name', name } : null;
}

async function resolve(name: string, options: OutboundHostOptions): Promise<readonly string[] | string> {
	const timeoutMs = options.timeoutMs ?? 5_000;
	try {
		const looked = await within((options.lookup ?? systemLookup)(name), timeoutMs);
		if (looked.late) return `the look-up of the name took longer than ${timeoutMs} ms`;
		return looked.value.length === 0 ? 'the name has no address' : looked.value;
	} catch (error) {
		const { code } = error as { code?: unknown };
		return `the name cannot be resolved${typeof code === 'string' ? ` (${code})` : ''}`;
	}
}

async function systemLookup(name: string): Promise<readonly string[]> {
	return (await dnsLookup(name, { all: true })).map((found) => found.address);
}

function judge(addresses: readonly string[], allowPrivate: boolean): OutboundHost {
	const passed: OutboundAddress[] = [];
	for (const text of new Set(addresses)) {
		if (!ipaddr.isValid(text) || text.includes('%')) return { kind: 'refused', reason: 'it has an address that may not be dialled' };
		const address = ipaddr.process(text);
		if (!allowPrivate && !isPublic(address))
			return {
				kind: 'refused',
				reason: `it is or resolves to an address that may not be dialled (${address.range()}; see TIDINGS_ALLOW_PRIVATE_HOSTS)`,
			};
		passed.push({ address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 });
	}
	const [first, ...more] = passed;
	return first === undefined ? { kind: 'unresolved', reason: 'the name has no address' } : { kind: 'allowed', addresses: [first, ...more] };
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
	if (address.range() !== 'unicast' || address.toString() === WIRE_SERVER) return false;
	return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST_V6);
}
