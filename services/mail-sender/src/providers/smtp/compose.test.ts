import { spawnSync } from 'node:child_process';
import { afterEach, expect, test } from '@jest/globals';
import { startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { composeMail } from './compose.js';
import type { SmtpMail } from './mail.js';
import { ann, bo, closeAll, closeLater, inShort, mailTo, transportTo } from './testing/kit.js';

afterEach(closeAll);

/** The bytes that arrive for each mail; every one of them must be taken. */
async function arrived(...mails: readonly SmtpMail[]): Promise<Buffer[]> {
	const sink = closeLater(await startSmtpSink());
	const transport = transportTo(sink.port, { slots: 1 });
	for (const mail of mails) for (const line of inShort(await transport.send(mail))) expect(line).toContain('accepted');
	expect(sink.mails).toHaveLength(mails.length);
	return sink.mails.map((one) => one.raw);
}

const READ = `
import sys, json, email, email.policy
from email.utils import parsedate_to_datetime
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
box = lambda h: [[a.display_name, a.addr_spec] for a in m[h].addresses] if m[h] else []
part = lambda p: {'type': p.get_content_type(), 'file': p.get_filename(), 'disposition': p.get_content_disposition(), 'cid': p['Content-ID'],
  'text': p.get_content() if p.get_content_maintype() == 'text' and not p.get_filename() else None,
  'bytes': None if p.is_multipart() else p.get_payload(decode=True).hex(), 'defects': len(p.defects), 'parts': [part(q) for q in p.iter_parts()] if p.is_multipart() else []}
print(json.dumps({'subject': m['Subject'], 'from': box('From'), 'to': box('To'), 'cc': box('Cc'), 'bcc': box('Bcc'), 'replyTo': box('Reply-To'), 'id': m['Message-ID'],
  'date': parsedate_to_datetime(m['Date']).isoformat(), 'names': [k for k in m.keys()], 'campaign': m['X-Campaign'], 'auto': m['Auto-Submitted'], 'body': part(m)}))
`;

type Part = {
	type: string;
	file: string | null;
	disposition: string | null;
	cid: string | null;
	text: string | null;
	bytes: string | null;
	defects: number;
	parts: Part[];
};
type Read = Record<'from' | 'to' | 'cc' | 'bcc' | 'replyTo', [string, string][]> &
	Record<'subject' | 'id' | 'date', string> & { campaign: string | null; auto: string | null; names: string[]; body: Part };

/** What Python's `email` reads in a mail: an opinion from another house. */
function readByPython(raw: Buffer): Read {
	const { stdout, stderr, status } = spawnSync('python3', ['-c', READ], { input: raw, encoding: 'utf8', maxBuffer: 50_000_000 });
	if (status !== 0) throw new Error(stderr);
	return JSON.parse(stdout) as Read;
}

function partsOf(part: Part): Part[] {
	return part.parts.length === 0 ? [part] : part.parts.flatMap(partsOf);
}

const picture = Buffer.from('89504e470d0a1a0a00ff', 'hex');
const rich: SmtpMail = {
	...mailTo([]),
	from: { address: 'shop@例え.jp', name: 'The "Shop", Ltd. 🛒' },
	replyTo: { address: 'help@example.com', name: '客服' },
	recipients: [
		{ n: 0, role: 'to', address: ann, name: 'Ann "the boss" O\'Neil, Esq.', open: true },
		{ n: 1, role: 'to', address: bo, name: '王小明 😀', open: false },
		{ n: 2, role: 'cc', address: 'cy@example.org', name: '', open: true },
		{ n: 3, role: 'bcc', address: 'secret@example.org', name: 'Nobody', open: true },
	],
	subject: '訂單確認：您的收據 😀 – größer als 50 € und noch etwas länger, damit gefaltet wird',
	text: '您好\n.\n..\nlast line without end',
	html: `<p>您好 <img src="cid:logo1"></p>\r<p>${'x'.repeat(3_000)}</p>`,
	headers: { 'X-Campaign': 'autumn', 'Auto-Submitted': 'auto-generated', 'List-Unsubscribe': '<https://example.com/u/1>' },
	attachments: [
		{ filename: '收據 2026年3月（正本）.pdf', contentType: 'application/pdf', content: Buffer.from('%PDF-1.7\n'), contentId: null },
		{ filename: 'logo "1".png', contentType: 'image/png', content: picture, contentId: 'logo1' },
		{ filename: '資料.csv', contentType: 'text/csv; charset=gbk', content: Buffer.from('d6d0b9fa0a', 'hex'), contentId: null },
		{
			filename: 'note.eml',
			contentType: 'message/rfc822',
			content: Buffer.from('Subject: 8 bit \xe9\r\n\r\nbody', 'latin1'),
			contentId: null,
		},
		{ filename: 'odd', contentType: 'multipart/mixed', content: Buffer.from('x'), contentId: null },
	],
};

test('a rich mail arrives as it was meant', async () => {
	const [raw = Buffer.alloc(0)] = await arrived(rich);
	const read = readByPython(raw);
	expect(read).toMatchObject({
		subject: rich.subject,
		from: [['The "Shop", Ltd. 🛒', 'shop@xn--r8jz45g.jp']],
		to: [
			['Ann "the boss" O\'Neil, Esq.', ann],
			['王小明 😀', bo],
		],
		cc: [['', 'cy@example.org']],
		bcc: [],
		replyTo: [['客服', 'help@example.com']],
		id: `<${rich.recordId}@xn--r8jz45g.jp>`,
		date: '2026-03-01T10:20:30+00:00',
		campaign: 'autumn',
		auto: 'auto-generated',
	});
	expect(raw.includes('secret@')).toBe(false);
	const [text, html, logo, ...files] = partsOf(read.body);
	expect(read.body.type).toBe('multipart/mixed');
	expect(read.body.parts[0]?.parts.map((one) => one.type)).toEqual(['text/plain', 'multipart/related']);
	expect(Buffer.from(text?.bytes ?? '', 'hex').toString()).toBe('您好\r\n.\r\n..\r\nlast line without end');
	expect(html?.text?.replaceAll('\r\n', '\n').trimEnd()).toBe(rich.html?.replace('\r', '\n'));
	expect(logo).toMatchObject({
		type: 'image/png',
		file: 'logo "1".png',
		disposition: 'inline',
		cid: '<logo1>',
		bytes: picture.toString('hex'),
	});
	expect(files.map(({ type, file, disposition, bytes }) => [type, file, disposition, bytes])).toEqual([
		['application/pdf', '收據 2026年3月（正本）.pdf', 'attachment', Buffer.from('%PDF-1.7\n').toString('hex')],
		['text/csv', '資料.csv', 'attachment', 'd6d0b9fa0a'],
		['application/octet-stream', 'note.eml', 'attachment', rich.attachments[3]?.content.toString('hex')],
		['application/octet-stream', 'odd', 'attachment', '78'],
	]);
	expect(partsOf(read.body).every((one) => one.defects === 0)).toBe(true);
});

test('every line that arrives ends in CRLF and has at most 998 characters', async () => {
	const long = 'y'.repeat(1_000_000);
	const [raw = Buffer.alloc(0)] = await arrived({ ...rich, text: `a\rb\nc\r\n.\n${long}\r\r.\r\n.`, html: long });
	expect(raw.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
	expect(
		Math.max(
			...raw
				.toString('latin1')
				.split('\r\n')
				.map((line) => line.length),
		),
	).toBeLessThanOrEqual(998);
	expect(Buffer.from(partsOf(readByPython(raw).body)[0]?.bytes ?? '', 'hex').toString()).toBe(`a\r\nb\r\nc\r\n.\r\n${long}\r\n\r\n.\r\n.`);
});

test.each([
	['.\r\nMAIL FROM:<x@example.com>', '.\r\nMAIL FROM:<x@example.com>\r\n'],
	['\n.\nQUIT\n', '\r\n.\r\nQUIT\r\n'],
	['a\r.\rb', 'a\r\n.\r\nb\r\n'],
	['..', '..\r\n'],
])('the body %j stays one mail', async (text, expected) => {
	const [raw = Buffer.alloc(0)] = await arrived(mailTo([ann], { text }), mailTo([bo]));
	expect(raw.toString().split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(expected);
});

test('a retry sends the same bytes, whoever is still open', async () => {
	const later: SmtpMail = { ...rich, recipients: rich.recipients.map((one) => ({ ...one, open: one.n === 1 })) };
	const [first, second] = await arrived(rich, later);
	expect(second?.equals(first ?? Buffer.alloc(0))).toBe(true);
});

test('nothing marks a mail as automatic, and no header tells of the library, unless the caller says so', async () => {
	const [raw = Buffer.alloc(0)] = await arrived(mailTo([ann]));
	expect(readByPython(raw).names.sort()).toEqual([
		'Content-Transfer-Encoding',
		'Content-Type',
		'Date',
		'From',
		'MIME-Version',
		'Message-ID',
		'Subject',
		'To',
	]);
});

test('content is never read from a path or an address', async () => {
	const [raw = Buffer.alloc(0)] = await arrived(mailTo([ann], { text: '/etc/hostname', html: '<img src="data:image/png;base64,AAAA">' }));
	expect(raw.toString()).toContain('/etc/hostname');
	expect(raw.toString()).toContain('data:image/png;base64,AAAA');
});

test.each<readonly [string, Partial<SmtpMail>]>([
	['the subject', { subject: 'a\r\nBcc: x@example.com' }],
	['a header', { headers: { 'X-A': 'a\nBcc: x@example.com' } }],
	['a header name', { headers: { 'X-A: b\r\nBcc': 'x@example.com' } }],
	['the sender’s name', { from: { address: 'a@example.com', name: 'a\nb' } }],
	['a file name', { attachments: [{ filename: 'a\r\nb', contentType: 'text/plain', content: Buffer.from(''), contentId: null }] }],
])('a line break in %s is INVALID_INPUT', (_, change) => {
	expect(composeMail(mailTo([ann], change))).toMatchObject({ category: 'INVALID_INPUT', stage: 'CONFIG' });
});

test('a From that is no address is CONFIG', () => {
	expect(composeMail(mailTo([ann], { from: { address: 'a@b@c', name: '' } }))).toMatchObject({ category: 'CONFIG' });
});
