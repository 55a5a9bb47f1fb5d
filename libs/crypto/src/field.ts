import { createCipheriv, createDecipheriv } from 'node:crypto';
import { randomBytes } from '@tidings/model';
import { keyIdOf } from './key-id-of.js';
import type { Keyring } from './keyring.js';

/** Where a sealed value lives. It is bound to this place: moved to another row, column or tenant it does not open. */
export type SealedField = { readonly tenantId: string; readonly table: string; readonly column: string; readonly rowId: string };

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals a text with the newest key: `keyId.iv.ciphertext.tag`, each part base64url. */
export function seal(keyring: Keyring, clear: string, field: SealedField): string {
	const { id, bytes } = keyring.newest;
	const iv = Buffer.from(randomBytes(IV_BYTES));
	const cipher = createCipheriv(CIPHER, bytes, iv, { authTagLength: TAG_BYTES }).setAAD(boundTo(field));
	const sealed = Buffer.concat([cipher.update(clear, 'utf8'), cipher.final()]);
	return [id, ...[iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.');
}

/** Opens what `seal` made for the same field. Throws when the key is missing or wrong, or the text was changed or moved; the message names the key id and nothing else. */
export function open(keyring: Keyring, sealed: string, field: SealedField): string {
	const [iv, body, tag] = sealed.split('.').slice(-3);
	const id = keyIdOf(sealed);
	if (iv === undefined || body === undefined || tag === undefined || id === null)
		throw new Error('a sealed field does not have the form of one');
	const key = keyring.find(id);
	if (key === undefined) throw new Error(`a sealed field needs the key ${id}, which is not configured`);
	try {
		const decipher = createDecipheriv(CIPHER, key.bytes, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES });
		decipher.setAAD(boundTo(field)).setAuthTag(Buffer.from(tag, 'base64url'));
		return Buffer.concat([decipher.update(body, 'base64url'), decipher.final()]).toString('utf8');
	} catch {
		// The cause is left out on purpose: it says nothing that helps, and must never say more.
		throw new Error(`a sealed field does not open with the key ${id}`);
	}
}

function boundTo(field: SealedField): Buffer {
	return Buffer.from([field.tenantId, field.table, field.column, field.rowId].join('|'));
}
