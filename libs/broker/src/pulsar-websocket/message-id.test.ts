import { expect, test } from '@jest/globals';
import { messageIdText } from './message-id.js';

const base64 = (...bytes: number[]): string => Buffer.from(bytes).toString('base64');

test.each([
	['CB4QADAA', '30:0:-1'],
	['CB4QATAA', '30:1:-1'],
	['CCoQABgCMAA=', '42:0:2'],
])('the id %s that Pulsar gave is the text that its dead letters name as origin, %s', (id, text) => {
	expect(messageIdText(id)).toBe(text);
});

test('a message within a batch has its index as a fourth part', () => {
	expect(messageIdText(base64(0x08, 5, 0x10, 7, 0x18, 1, 0x20, 3, 0x30, 10))).toBe('5:7:1:3');
});

test('a negative partition and batch index, written as 64 bits, are none', () => {
	const minusOne = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
	expect(messageIdText(base64(0x08, 5, 0x10, 7, 0x18, ...minusOne, 0x20, ...minusOne))).toBe('5:7:-1');
});

test('a ledger beyond what a JavaScript number holds stays exact', () => {
	const largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
	expect(messageIdText(base64(0x08, ...largest, 0x10, 0))).toBe('9223372036854775807:0:-1');
});

test('fields of other kinds are passed over', () => {
	expect(messageIdText(base64(0x3a, 2, 9, 9, 0x08, 5, 0x10, 7))).toBe('5:7:-1');
});

test.each(['', base64(0x08, 5), base64(0x08), base64(0x0d, 1), base64(...Array<number>(20).fill(0xff))])(
	'what is no id, %p, is refused',
	(id) => {
		expect(() => messageIdText(id)).toThrow(/message id/);
	},
);
