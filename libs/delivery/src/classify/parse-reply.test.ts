import { expect, test } from '@jest/globals';
import { cleanText, parseReply } from './parse-reply.js';

test('a reply is taken apart into code, enhanced code and text', () => {
	expect(parseReply('550 5.1.1 user unknown')).toEqual({ code: '550', enhancedCode: '5.1.1', text: 'user unknown' });
	expect(parseReply('250')).toEqual({ code: '250', enhancedCode: null, text: '' });
	expect(parseReply('250 2.0.0')).toEqual({ code: '250', enhancedCode: '2.0.0', text: '' });
});

test('the lines of a long reply become one text without their codes', () => {
	expect(parseReply('550-5.7.1 first\r\n550-5.7.1 second\n550 5.7.1 third')).toEqual({
		code: '550',
		enhancedCode: '5.7.1',
		text: 'first second third',
	});
});

test('what is no SMTP has no code', () => {
	expect(parseReply('HTTP/1.1 400 Bad Request')).toEqual({ code: null, enhancedCode: null, text: 'HTTP/1.1 400 Bad Request' });
	expect(parseReply('5500 no')).toMatchObject({ code: null });
	expect(parseReply('550 5.1.1234 no')).toEqual({ code: '550', enhancedCode: null, text: '5.1.1234 no' });
});

test('control characters, line separators and lone surrogates leave the text', () => {
	expect(cleanText(' a\u0000b\u001b[31mc\u0085d\u2028e\ud800f ')).toBe('a b [31mc d e f');
});

test('the text ends at 1,000 characters and never in the middle of a pair', () => {
	expect(parseReply(`550 ${'x'.repeat(5_000)}`).text).toHaveLength(1_000);
	expect(cleanText(`${'x'.repeat(999)}😀`)).toBe('x'.repeat(999));
});

test('megabytes of blanks in a reply are read, and nothing of them is kept', () => {
	expect(parseReply(`550-${' '.repeat(1_000_000)}\r\n`.repeat(3))).toMatchObject({ code: '550', text: '' });
});
