import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import MailComposer from 'nodemailer/lib/mail-composer';
import { composeMail } from './compose.js';
import type { SmtpMail } from './mail.js';
import { ann, bo, mailTo } from './testing/kit.js';
import { writeWhole } from './write-whole.js';

function compiled(mail: SmtpMail): ReturnType<MailComposer['compile']> {
	const composed = composeMail(mail);
	if ('category' in composed) throw new Error(composed.text);
	return new MailComposer(composed.options).compile();
}

const whole = (mail: SmtpMail): string => writeWhole(compiled(mail));
const streamed = async (mail: SmtpMail): Promise<string> => (await compiled(mail).build()).toString('utf8');

const odd = fc.constantFrom(
	' ',
	'\t',
	'.',
	'=',
	'\r\n',
	'\n',
	'\r',
	'==',
	'=3D',
	'. ',
	' \r\n',
	'word',
	'word word',
	'é',
	'寄件',
	'👋',
	'x'.repeat(75),
	'x'.repeat(1_200),
);
const text = fc.array(odd, { maxLength: 60 }).map((pieces) => pieces.join(''));

test('a mail written as one piece has the bytes of the library’s own stream', async () => {
	await fc.assert(
		fc.asyncProperty(fc.option(text), fc.option(text), fc.string({ unit: 'grapheme' }), async (plain, html, name) => {
			const mail = mailTo([ann, bo], {
				text: plain,
				html,
				subject: `Order ${name.replace(/\p{Cc}/gu, '')}`,
				headers: { 'X-Campaign': 'spring' },
			});
			expect(whole(mail)).toBe(await streamed(mail));
		}),
		{ numRuns: 300 },
	);
});

test('a mail with no text at all is written too', async () => {
	const mail = mailTo([ann], { text: null });
	expect(whole(mail)).toBe(await streamed(mail));
});

test('a part that is no text is refused', () => {
	const file = { filename: 'a.bin', contentType: 'application/octet-stream', content: Buffer.from([0, 1, 2]), contentId: null };
	expect(() => whole(mailTo([ann], { attachments: [file] }))).toThrow(TypeError);
});
