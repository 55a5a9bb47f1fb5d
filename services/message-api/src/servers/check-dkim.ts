import { createPrivateKey, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { readDomain } from '../checks/address.js';
import type { Faults, Raw } from '../checks/faults.js';

/** How mails are signed. `privateKey` null: none was given. */
export type CheckedDkim = { readonly domain: string; readonly selector: string; readonly privateKey: string | null };

/** Checks a domain, a selector and a private key, as far as they are there. */
export function checkDkim({ domain, selector, privateKey }: Raw, faults: Faults): CheckedDkim {
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
	return { domain: readable ?? '', selector: labels ?? '', privateKey: typeof privateKey === 'string' ? privateKey : null };
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
