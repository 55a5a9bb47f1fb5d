import { expect, test } from '@jest/globals';
import { open, seal } from './field.js';
import { parseKeys } from './keyring.js';

const bytes = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const keyring = parseKeys(`k1:${bytes(1)}`);
const field = { tenantId: 't1', table: 'server', column: 'password', rowId: 'r1' };

test('a sealed field opens again and shows nothing', () => {
	const sealed = seal(keyring, 'pässwörd 密碼', field);
	expect(sealed).toMatch(/^k1(\.[A-Za-z0-9_-]+){3}$/);
	expect(open(keyring, sealed, field)).toBe('pässwörd 密碼');
	expect(open(keyring, seal(keyring, '', field), field)).toBe('');
});

test('a key id may hold dots', () => {
	const dotted = parseKeys(`2026.1:${bytes(1)}`);
	expect(open(dotted, seal(dotted, 'x', field), field)).toBe('x');
});

test('the same text is never sealed the same way twice', () => {
	expect(seal(keyring, 'x', field)).not.toBe(seal(keyring, 'x', field));
});

test('F46 an older key still opens after a newer one came', () => {
	const sealed = seal(keyring, 'x', field);
	const both = parseKeys(`k2:${bytes(2)},k1:${bytes(1)}`);
	expect(open(both, sealed, field)).toBe('x');
	expect(seal(both, 'x', field)).toMatch(/^k2\./);
});

test.each([
	['tenantId', 't2'],
	['table', 'other'],
	['column', 'dkim'],
	['rowId', 'r2'],
])('F46 moved to another %s it does not open', (part, value) => {
	const sealed = seal(keyring, 'x', field);
	expect(() => open(keyring, sealed, { ...field, [part]: value })).toThrow('a sealed field does not open with the key k1');
});

test('F46 a missing or wrong key fails and names the key id only', () => {
	const sealed = seal(keyring, 'MARK', field);
	expect(() => open(parseKeys(`k2:${bytes(1)}`), sealed, field)).toThrow(/^a sealed field needs the key k1, which is not configured$/);
	expect(() => open(parseKeys(`k1:${bytes(9)}`), sealed, field)).toThrow(/^a sealed field does not open with the key k1$/);
});

test.each([0, 1, 2])('a changed part %i does not open, nor does a shortened tag', (index) => {
	const [id = '', ...parts] = seal(keyring, 'some text', field).split('.');
	const changed = parts.map((part, at) => (at === index ? `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}` : part));
	expect(() => open(keyring, [id, ...changed].join('.'), field)).toThrow('does not open');
	const shortened = [id, parts[0], parts[1], parts[2]?.slice(0, 6)].join('.');
	expect(() => open(keyring, shortened, field)).toThrow('does not open');
});

test('what was never sealed is refused', () => {
	for (const text of ['', 'clear', 'a.b', 'a.b.c', 'a.b.c.d.e']) expect(() => open(keyring, text, field)).toThrow('a sealed field');
});
