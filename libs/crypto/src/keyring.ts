/** One key that seals fields at rest. */
export type SealingKey = { readonly id: string; readonly bytes: Buffer };

/** Keys, newest first: the first seals, all open. */
export type Keyring = { readonly newest: SealingKey; find(id: string): SealingKey | undefined };

const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
const KEY_BYTES = 32;

/**
 * Reads `keyId:base64,keyId2:base64` (newest first; 32 bytes each). Throws one error that lists every fault; no part of a key stands in it.
 */
export function parseKeys(text: string): Keyring {
	const faults: string[] = [];
	const keys: SealingKey[] = [];
	for (const [index, entry] of text.split(',').entries()) {
		const key = readKey(entry.trim());
		if (typeof key === 'string') faults.push(`key ${index + 1}: ${key}`);
		else if (keys.some((one) => one.id === key.id)) faults.push(`key ${index + 1}: the id ${key.id} stands twice`);
		else keys.push(key);
	}
	const [newest] = keys;
	if (faults.length > 0 || newest === undefined) throw new Error(`the secret keys cannot be read: ${faults.join('; ')}`);
	const byId = new Map(keys.map((key) => [key.id, key]));
	return { newest, find: (id) => byId.get(id) };
}

/** What is wrong with a text for `parseKeys`; null when it can be read. For the check of a setting. */
export function faultOfKeys(text: string): string | null {
	try {
		parseKeys(text);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

function readKey(entry: string): SealingKey | string {
	const colon = entry.indexOf(':');
	if (colon < 0) return 'must be keyId:base64';
	const id = entry.slice(0, colon);
	if (!KEY_ID.test(id)) return 'its id must be 1 to 64 letters, digits, ".", "_" or "-"';
	const encoded = entry.slice(colon + 1);
	const bytes = Buffer.from(encoded, 'base64');
	if (bytes.toString('base64') !== encoded) return `${id} is not base64`;
	return bytes.length === KEY_BYTES ? { id, bytes } : `${id} has ${bytes.length} bytes instead of ${KEY_BYTES}`;
}
