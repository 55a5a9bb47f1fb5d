import { createPrivateKey, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { Mailbox } from '@tidings/db';
import { checkOutboundHost, pointerTo } from '@tidings/runtime';
import { readAddress, readDomain } from '../checks/address.js';
import { type Faults, type Raw, rawOf } from '../checks/faults.js';
import { faultOfLine } from '../checks/text.js';
import { readMailbox } from '../mail/read-mailbox.js';
import { allowsFrom } from './resolve-server.js';

/** Parts of a mail server that are stored otherwise than they were given. Only to be used when there were no faults. */
export type CheckedServer = {
	readonly from: Mailbox;
	readonly allowedFrom: readonly string[];
	readonly dkim: { readonly domain: string; readonly selector: string; readonly privateKey: string } | null;
};

/** Checks what no schema can: characters that would reach the wire, addresses, keys, and whether the host may be dialled. Also when the shape is wrong, as far as it goes. */
export async function checkServer(raw: Raw, faults: Faults, options: { allowPrivateHosts: boolean }): Promise<CheckedServer> {
	for (const field of ['name', 'username', 'password']) checkLine(raw[field], `/${field}`, faults);
	for (const field of ['ratePerMinute', 'dailyLimit']) {
		const value = raw[field];
		if (typeof value === 'number' && value > 0)
			faults.add(`/${field}`, 'not-available', 'This release has no rate limits yet: leave it out, or give null or 0.');
	}
	if (raw['username'] === undefined && raw['password'] !== undefined) faults.add('/username', 'required', 'A password needs a username.');
	if (raw['username'] !== undefined && raw['password'] === undefined) faults.add('/password', 'required', 'A username needs a password.');
	if (raw['default'] === true && raw['active'] === false)
		faults.add('/default', 'contradiction', 'A server that is not active cannot be the default: leave out `default`, or make it active.');
	await checkHost(raw['host'], faults, options.allowPrivateHosts);
	return { ...checkFrom(raw, faults), dkim: checkDkim(rawOf(raw['dkim']), faults) };
}

async function checkHost(host: unknown, faults: Faults, allowPrivate: boolean): Promise<void> {
	if (typeof host !== 'string' || host === '' || faults.isTooLong('/host') || checkLine(host, '/host', faults)) return;
	const checked = await checkOutboundHost(host, { allowPrivate });
	if (checked.kind === 'refused') faults.add('/host', 'host-not-allowed', `This host cannot be used: ${checked.reason}.`);
	// A private network's names may be known to the senders only.
	if (checked.kind === 'unresolved' && !allowPrivate) faults.add('/host', 'host-unknown', `This host cannot be used: ${checked.reason}.`);
}

function checkFrom(raw: Raw, faults: Faults): Pick<CheckedServer, 'from' | 'allowedFrom'> {
	const given = rawOf(raw['from']);
	const from = given === null ? null : readMailbox(given, '/from', faults);
	const patterns = Array.isArray(raw['allowedFrom']) ? raw['allowedFrom'].slice(0, 100) : null;
	const allowedFrom = (patterns ?? []).flatMap((pattern: unknown, index) => {
		if (typeof pattern !== 'string' || faults.isTooLong('/allowedFrom', String(index))) return [];
		const read = readPattern(pattern);
		if (read === null)
			faults.add(pointerTo('/allowedFrom', index), 'bad-address', 'This is neither one plain mail address nor `*@domain`.');
		return read ?? [];
	});
	if (from !== null && patterns !== null && !allowsFrom(allowedFrom, from.address))
		faults.add('/from/address', 'from-not-allowed', '`allowedFrom` must cover the default From.');
	return { from: from ?? { address: '', name: null }, allowedFrom: patterns === null ? [from?.address ?? ''] : [...new Set(allowedFrom)] };
}

function readPattern(pattern: string): string | null {
	if (!pattern.startsWith('*@')) return readAddress(pattern);
	const domain = readDomain(pattern.slice(2));
	return domain === null ? null : `*@${domain}`;
}

function checkDkim(raw: Raw | null, faults: Faults): CheckedServer['dkim'] {
	if (raw === null) return null;
	const { domain, selector, privateKey } = raw;
	const readable = typeof domain === 'string' ? readDomain(domain) : null;
	if (typeof domain === 'string' && readable === null && !faults.isTooLong('/dkim/domain'))
		faults.add('/dkim/domain', 'bad-format', 'This is not a domain name.');
	const labels = typeof selector === 'string' && isIP(selector) === 0 ? readDomain(selector) : null;
	if (typeof selector === 'string' && labels === null && !faults.isTooLong('/dkim/selector'))
		faults.add('/dkim/selector', 'bad-format', 'A selector is one or more labels of letters, digits and hyphens.');
	if (typeof privateKey === 'string' && !faults.isTooLong('/dkim/privateKey')) {
		const fault = faultOfKey(privateKey);
		if (fault !== null) faults.add('/dkim/privateKey', fault.code, fault.detail);
	}
	return typeof selector === 'string' && typeof privateKey === 'string'
		? { domain: readable ?? '', selector: labels ?? '', privateKey }
		: null;
}

function faultOfKey(pem: string): { code: 'bad-format' | 'not-available'; detail: string } | null {
	let key: KeyObject;
	try {
		key = createPrivateKey(pem);
	} catch {
		// The cause could quote the key.
		return { code: 'bad-format', detail: 'This is not a private key as PEM, or it is locked by a passphrase.' };
	}
	if (key.asymmetricKeyType === 'ed25519') return { code: 'not-available', detail: 'This release signs with RSA keys only.' };
	if (key.asymmetricKeyType !== 'rsa') return { code: 'bad-format', detail: 'DKIM needs an RSA key.' };
	const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
	return bits < 1_024 ? { code: 'bad-format', detail: `The key has ${bits} bits; receivers refuse fewer than 1,024.` } : null;
}

function checkLine(value: unknown, pointer: string, faults: Faults): boolean {
	const fault = typeof value === 'string' && !faults.isTooLong(pointer) ? faultOfLine(value) : null;
	if (fault !== null) faults.add(pointer, 'control-character', fault);
	return fault !== null;
}
