import { afterEach, expect, test } from '@jest/globals';
import { type SinkOptions, type SmtpSink, startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { ann, bo, closeAll, closeLater, inShort, mailTo, transportTo } from './testing/kit.js';

afterEach(closeAll);

const sinkOf = async (options: SinkOptions = {}): Promise<SmtpSink> => closeLater(await startSmtpSink(options));
function gate<T>(): { opened: Promise<T>; open(value: T): void } {
	let open: (value: T) => void = () => undefined;
	const opened = new Promise<T>((resolve) => {
		open = resolve;
	});
	return { opened, open: (value) => open(value) };
}

/** Guards nothing. */
const dkimKey = `-----BEGIN RSA PRIVATE KEY-----
MIICXwIBAAKBgQDAw4w09e0EPh0bG8RHwszCT9iUcrN8FffYYg+Q0zKlLEXebz7w
q9fYLDvuULnU3cP0O9pTfCe6ewhDyQTemRZpWUtq8/qC8HRRQED9JhXEiApP/Pjb
v8o7y+OSYvokkCIofF2WPS65PEA/ct3545wcgJzrZ21PlwqeFO6V06/WiwIDAQAB
AoGBAJ9lE5r3gHXxpr+zxipQumAzBjQ6ZJBG2hrje1uWSFqssVmtQ65faqwmZ6g4
uHF8r3xVwcMm9vMMqVjj8FLg49Xpy3qw3faokcevekmK1jeJQyN5E4//s8yKe6Tg
lvso2nbQAfz2BPKsjLHSzw5m6juNBuUfEz3BMtuYfwy8EteBAkEA4AVZizufqOza
efpytxBeCeEXVAyVEZpnJCdtkS0UZoXQpA62EbrsISwen8DpFmkPRRHY4xEqVj/L
s8XVpyGw5wJBANxH77djBM61HW3o2cWQnP2eiq93J60I/6uNDv5qJRmPft84XcBE
N+XLptX7RjXqtP4ogHZWaoq1rHVw1Q7aZL0CQQC4Pw4nenFVEQCbZAWnVJnTTELQ
iMytvqznylnOFiJ6M8Kmu8a5DGCa49uIDrRmDyBU8VnNX1fPugaCo8qV/BqvAkEA
oTtiIWevoCD+/nC93RahYh2GQzJC7ysz//wKanuE1jWq1nXqYQ1NoLw0TFFULaiy
e4lnpbZQ22Bob7l7qRh/PQJBAMQJ97JJ7OaYC9ZAPx0fYpIrTcVWbRJzBzDjQ90F
o34NEFjc+4mIgRzfc43uiJmRSHfTRcBWw7nPxsd5IXkAlbs=
-----END RSA PRIVATE KEY-----`;

test.each([
	['plain', null],
	['signed', { domain: 'example.com', selector: 's1', privateKey: dkimKey }],
])('begin of a %s mail runs after the 354 and before the first byte', async (_, dkim) => {
	const sink = await sinkOf();
	const body = sink.script({ stage: 'BODY', to: ann, answer: { kind: 'hang' } });
	const asked = gate<void>();
	const hold = gate<boolean>();
	const outcome = transportTo(sink.port, { dkim }).send(mailTo([ann]), () => {
		asked.open();
		return hold.opened;
	});
	await asked.opened;
	// A whole mail on a second connection: had a byte of the first one been sent, the sink would have seen it by now.
	expect(inShort(await transportTo(sink.port).send(mailTo([bo])))).toEqual(['0 accepted 250']);
	expect(body.hits).toBe(0);
	hold.open(true);
	await body.met();
	body.release();
	expect(inShort(await outcome)).toEqual(['0 accepted 250']);
	expect(/^DKIM-Signature: /.test(sink.mails[1]?.raw.toString() ?? '')).toBe(dkim !== null);
});

test('begin is not asked when the server has said no before the content', async () => {
	const sink = await sinkOf();
	sink.script({ stage: 'DATA', answer: { kind: 'refuse', code: 451 } });
	let asked = 0;
	await transportTo(sink.port).send(mailTo([ann]), async () => ++asked > 0);
	expect(asked).toBe(0);
});

test('a signed mail proves right against the public key, whatever its line ends', async () => {
	const sink = await sinkOf();
	const text = 'a\rb\r\nc\n.\n\n  trailing  \n中文\n'.repeat(3);
	await transportTo(sink.port, { dkim: { domain: 'example.com', selector: 's1', privateKey: dkimKey } }).send(mailTo([ann], { text }));
	expect(await verifyDkim(sink.mails[0]?.raw ?? Buffer.alloc(0))).toBe(true);
});

/** RFC 6376, relaxed/relaxed, by hand: a second opinion. */
async function verifyDkim(raw: Buffer): Promise<boolean> {
	const { createHash, createPublicKey, createVerify } = await import('node:crypto');
	const [head = '', ...rest] = raw.toString('latin1').split('\r\n\r\n');
	const lines = `${rest.join('\r\n\r\n')}`.split('\r\n').map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''));
	const body = `${lines.join('\r\n').replace(/(\r\n)*$/, '')}\r\n`;
	const fields = head
		.replace(/\r\n[ \t]+/g, ' ')
		.split('\r\n')
		.map((line) => {
			const colon = line.indexOf(':');
			return {
				name: line.slice(0, colon).toLowerCase(),
				value: line
					.slice(colon + 1)
					.replace(/[ \t]+/g, ' ')
					.trim(),
			};
		});
	const signature = fields.find((one) => one.name === 'dkim-signature')?.value ?? '';
	const tag = (name: string): string => (new RegExp(`(?:^|;) ?${name}=([^;]*)`).exec(signature)?.[1] ?? '').replace(/ /g, '');
	const signed = tag('h')
		.split(':')
		.map((name) => `${name}:${fields.findLast((one) => one.name === name)?.value}\r\n`)
		.join('');
	const unsigned = signature.replace(/( b=)[^;]*$/, '$1').trimEnd();
	const proven = createVerify('sha256').update(Buffer.from(`${signed}dkim-signature:${unsigned}`, 'latin1'));
	return (
		tag('bh') === createHash('sha256').update(Buffer.from(body, 'latin1')).digest('base64') &&
		proven.verify(createPublicKey(dkimKey), Buffer.from(tag('b'), 'base64'))
	);
}
