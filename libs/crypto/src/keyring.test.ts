import { expect, test } from '@jest/globals';
import { parseKeys } from './keyring.js';

const key = (byte: number, bytes = 32): string => Buffer.alloc(bytes, byte).toString('base64');

test('the first key is the newest, and each is found by its id', () => {
	const keyring = parseKeys(`new:${key(2)}, old:${key(1)}`);
	expect(keyring.newest.id).toBe('new');
	expect(keyring.find('old')?.bytes).toEqual(Buffer.alloc(32, 1));
	expect(keyring.find('other')).toBeUndefined();
});

test.each([
	['', 'key 1: must be keyId:base64'],
	['abc', 'key 1: must be keyId:base64'],
	[`a b:${key(1)}`, 'key 1: its id must be'],
	[`:${key(1)}`, 'key 1: its id must be'],
	['k:%%%', 'key 1: k is not base64'],
	[`k:${key(1, 31)}`, 'key 1: k has 31 bytes instead of 32'],
	[`k:${key(1)},k:${key(2)}`, 'key 2: the id k stands twice'],
])('%j is refused', (text, fault) => {
	expect(() => parseKeys(text)).toThrow(fault);
});

test('every fault is listed at once, and no key is told', () => {
	const secret = key(7, 16);
	const read = (): unknown => parseKeys(`short:${secret},,good:${key(3)}`);
	expect(read).toThrow(/key 1: .*; key 2: /);
	expect(read).not.toThrow(secret);
});
