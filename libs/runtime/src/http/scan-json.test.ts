import { expect, test } from '@jest/globals';
import { DEEPEST, MOST_VALUES, scanJson } from './scan-json.js';

const scan = (text: string): string => scanJson(Buffer.from(text));
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('depth and number of values are found without parsing', () => {
	expect(scan(nested(DEEPEST))).toBe('fine');
	expect(scan(nested(DEEPEST + 1))).toBe('too deep');
	expect(scan(`[${'1,'.repeat(MOST_VALUES - 10)}1]`)).toBe('fine');
	expect(scan(`[${'1,'.repeat(MOST_VALUES)}1]`)).toBe('too many');
	expect(scan(`[${'[],'.repeat(MOST_VALUES / 2)}1]`)).toBe('too many');
});

test('what stands in a string is text', () => {
	const inside = nested(100) + ','.repeat(1000);
	expect(scan(JSON.stringify({ [inside]: `${inside}"\\${inside}\\\\` }))).toBe('fine');
	expect(scan(`{"a":"\\\\",${'"b":'}${nested(100)}}`)).toBe('too deep');
});

test('what is no JSON is left to the parser', () => {
	for (const text of ['', '"', '"\\"', ']]]]', '{"a":"unfinished']) expect(scan(text)).toBe('fine');
});
