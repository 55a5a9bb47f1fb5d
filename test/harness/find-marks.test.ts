import { expect, test } from '@jest/globals';
import { findMarks } from './find-marks.js';

const MARK = 'mksecret0a1b2c';
const percent = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join('');

test.each<[string, string]>([
	['in clear', `before ${MARK} after`],
	['in upper case', `before ${MARK.toUpperCase()} after`],
	['in base64, first in its group', Buffer.from(`${MARK}-tail`).toString('base64')],
	['in base64, second in its group', Buffer.from(`x${MARK}-tail`).toString('base64')],
	['in base64, third in its group', Buffer.from(`xy${MARK}`).toString('base64')],
	['in base64url, in the middle of a text', Buffer.from(`ÿþ>?${MARK}ÿþ>?`).toString('base64url')],
	[
		'in base64 over two lines',
		Buffer.from(`some text before it ${MARK}`)
			.toString('base64')
			.replace(/(.{33})/, '$1\r\n'),
	],
	['percent-encoded, every byte', percent(`a${MARK}b`)],
	['in quoted-printable over two lines', `Dear mksecret=\r\n0a1b2c`],
	['in quoted-printable, every byte', percent(MARK).replaceAll('%', '=')],
	['in JSON, every character escaped', [...MARK].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')],
	['in JSON in JSON, in a fold', JSON.stringify(JSON.stringify({ text: `a\nmksec\r\n ret0a1b2c` }))],
	['in hex', Buffer.from(`pass ${MARK}`).toString('hex')],
	['in hex, upper case', Buffer.from(MARK).toString('hex').toUpperCase()],
])('a mark is found %s', (_, text) => {
	const found = findMarks({ secret: MARK }, { log: `{"msg":"${text}"}`, other: 'nothing' });
	expect(found).toEqual([expect.stringMatching(/^log: secret /)]);
});

test('what is no mark is not found, and every output that holds one is named', () => {
	expect(findMarks({ secret: MARK }, { log: 'mksecret0a1b2 mksecret 0a1b2c', other: Buffer.from('mksecret').toString('base64') })).toEqual(
		[],
	);
	expect(findMarks({ a: MARK, b: 'mkother0a1b2c' }, { log: MARK, trace: `${MARK} mkother0a1b2c` })).toEqual([
		'log: a in clear',
		'trace: a in clear',
		'trace: b in clear',
	]);
});
