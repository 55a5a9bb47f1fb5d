import { createHash, timingSafeEqual } from 'node:crypto';
import { randomBytes } from '@tidings/model';

/** A fresh API key: `text` is shown once and never stored; `keyId` finds it, `secretSha256` proves it. */
export type NewApiKey = { readonly text: string; readonly keyId: string; readonly secretSha256: Buffer };

const FORM = /^tdg_([a-z0-9]{16})_([A-Za-z0-9_-]{43})$/;
/** Compared with when a key id is unknown, so that unknown and wrong keys take the same path. */
const NOBODY = Buffer.alloc(32);

/** Makes an API key: `tdg_` + 16 characters of key id + `_` + 256 random bits. */
export function newApiKey(): NewApiKey {
	const keyId = Buffer.from(randomBytes(8)).toString('hex');
	const secret = Buffer.from(randomBytes(32)).toString('base64url');
	return { text: `tdg_${keyId}_${secret}`, keyId, secretSha256: sha256(secret) };
}

/** Splits an API key; null when it does not have the form of one. */
export function parseApiKey(text: string): { readonly keyId: string; readonly secret: string } | null {
	const match = FORM.exec(text);
	const [, keyId, secret] = match ?? [];
	return keyId === undefined || secret === undefined ? null : { keyId, secret };
}

/** Whether a secret is the one that was stored, in constant time. `stored` null: the key id is unknown, which takes as long and is false. */
export function matchesSecret(secret: string, stored: Uint8Array | null): boolean {
	return timingSafeEqual(sha256(secret), stored ?? NOBODY) && stored !== null;
}

function sha256(text: string): Buffer {
	return createHash('sha256').update(text).digest();
}
