import { expect, test } from '@jest/globals';
import { matchesSecret, newApiKey, parseApiKey } from './api-key.js';

test('a new key parses back and proves itself', () => {
	const key = newApiKey();
	const parsed = parseApiKey(key.text);
	expect(parsed?.keyId).toBe(key.keyId);
	expect(matchesSecret(parsed?.secret ?? '', key.secretSha256)).toBe(true);
	expect(key.secretSha256).toHaveLength(32);
});

test('another secret, and any secret of an unknown key, is refused', () => {
	const [one, other] = [newApiKey(), newApiKey()];
	const secret = parseApiKey(other.text)?.secret ?? '';
	expect(matchesSecret(secret, one.secretSha256)).toBe(false);
	expect(matchesSecret(secret, null)).toBe(false);
});

test.each([
	'',
	'tdg_',
	'tdg_0123456789abcdef',
	'tdg_0123456789abcdef_short',
	'xyz_0123456789abcdef_',
	`tdg_0123456789ABCDEF_${'a'.repeat(43)}`,
	`tdg_0123456789abcdef_${'a'.repeat(44)}`,
])('%j does not have the form of a key', (text) => {
	expect(parseApiKey(text)).toBeNull();
});
