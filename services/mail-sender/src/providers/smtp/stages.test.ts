import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { Outcome } from '@tidings/model';
import { type SinkOptions, type SinkRule, type SmtpSink, startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { ann, bo, closeAll, closeLater, inShort, mailTo, transportTo } from './testing/kit.js';
import { politeBut } from './testing/odd-server.js';

/*
 * Rows of the table of answers, as the real transport meets them. Those of TLS stand in tls.test.ts, each row by itself in the classification's own test.
 */

afterEach(closeAll);

async function sinkWith(rules: readonly SinkRule[] = [], options: SinkOptions = {}): Promise<SmtpSink> {
	const sink = closeLater(await startSmtpSink(options));
	for (const rule of rules) sink.script(rule);
	return sink;
}

const no = (code: number, enhancedCode: string, text: string) => ({ kind: 'refuse', code, enhancedCode, text }) as const;
const tooMany = no(452, '4.5.3', 'too many recipients');
const cy = 'cy@example.org';
const di = 'di@example.org';
const login = { username: 'u', password: 'p' };
const auth = { user: 'u', password: 'p' };

/** Whether the outcome blames the address of each recipient. */
function blamed(outcome: Outcome): (true | undefined)[] {
	if (outcome.kind !== 'answered') throw new Error(outcome.kind);
	return outcome.recipients.map((one) => (one.kind === 'refused' ? one.aboutAddress : undefined));
}

test('M3 a server that takes the connection and never greets is TRANSIENT', async () => {
	const sink = await sinkWith([{ stage: 'CONN', answer: { kind: 'hang' } }]);
	expect(inShort(await transportTo(sink.port, {}, { readMs: 1_000 }).send(mailTo([ann])))).toEqual(['0 TRANSIENT CONN - -']);
});

test.each<readonly [string, SinkRule, string]>([
	['M5 a host without a mail service', { stage: 'CONN', answer: no(554, '5.3.2', 'no SMTP service here') }, '0 CONFIG CONN 554 5.3.2'],
	['M5 a host that says so with 521', { stage: 'CONN', answer: { kind: 'refuse', code: 521 } }, '0 CONFIG CONN 521 -'],
	['M12 a wrong password', { stage: 'AUTH', answer: no(535, '5.7.8', 'wrong name or password') }, '0 AUTH AUTH 535 5.7.8'],
	['M16 a password that must be changed', { stage: 'AUTH', answer: no(432, '4.7.12', 'change it') }, '0 AUTH AUTH 432 4.7.12'],
	['M19 too many failed log-ins', { stage: 'AUTH', answer: no(421, '4.7.0', 'too many failed logins') }, '0 QUOTA AUTH 421 4.7.0'],
	['M27 nobody’s address', { stage: 'RCPT', answer: no(550, '5.1.1', '用户不存在') }, '0 PERMANENT RCPT 550 5.1.1'],
	['M48 no valid recipient', { stage: 'DATA', answer: no(554, '5.5.1', 'no valid recipients') }, '0 UNKNOWN DATA 554 5.5.1'],
])('%s has its category, with and without pipelining', async (_, rule, expected) => {
	for (const extensions of [[], ['PIPELINING']]) {
		const sink = await sinkWith([rule], { extensions, login });
		expect(inShort(await transportTo(sink.port, { auth }).send(mailTo([ann])))).toEqual([expected]);
	}
});

test('M27 blames the address at RCPT, and after the dot only when there is no other', async () => {
	const sink = await sinkWith([{ stage: 'RCPT', to: bo, times: 1, answer: no(550, '5.1.1', 'no such user') }]);
	const transport = transportTo(sink.port);
	expect(blamed(await transport.send(mailTo([ann, bo])))).toEqual([undefined, true]);
	sink.script({ stage: 'DOT', answer: no(550, '5.1.1', 'user unknown') });
	expect(blamed(await transport.send(mailTo([ann, bo])))).toEqual([undefined, undefined]);
	expect(blamed(await transport.send(mailTo([ann])))).toEqual([true]);
});

test('K37 a refusal by policy, and a not-now, blame no address', async () => {
	const sink = await sinkWith([
		{ stage: 'RCPT', to: ann, answer: no(550, '5.7.1', 'blocked by policy') },
		{ stage: 'RCPT', to: bo, answer: no(450, '4.2.0', 'mailbox busy') },
	]);
	expect(blamed(await transportTo(sink.port).send(mailTo([ann, bo])))).toEqual([undefined, undefined]);
});

/** A server that takes two recipients a transaction. */
async function narrow(answer: SinkRule['answer'] = tooMany, extensions: readonly string[] = []): Promise<SmtpSink> {
	const sink = await sinkWith([], { extensions });
	sink.script({ stage: 'RCPT', to: cy, times: 1, answer });
	sink.script({ stage: 'RCPT', to: di, times: 2, answer });
	return sink;
}

test.each([
	['M37', tooMany],
	['M38', no(552, '5.5.3', 'too many recipients')],
])('%s whom the server refuses for their number gets the same mail in a new transaction at once', async (_, answer) => {
	for (const extensions of [[], ['PIPELINING']]) {
		const sink = await narrow(answer, extensions);
		const outcome = await transportTo(sink.port).send(mailTo([ann, bo, cy, di]));
		expect(inShort(outcome)).toEqual([0, 1, 2, 3].map((n) => `${n} accepted 250`));
		expect(sink.mails.map((mail) => mail.to)).toEqual([[ann, bo], [cy], [di]]);
		expect(new Set(sink.mails.map((mail) => mail.raw.toString())).size).toBe(1);
	}
});

test('M37 a server that takes nobody is asked once, and all are tried again later', async () => {
	const sink = await sinkWith();
	const rule = sink.script({ stage: 'RCPT', answer: tooMany });
	expect(inShort(await transportTo(sink.port).send(mailTo([ann, bo])))).toEqual([0, 1].map((n) => `${n} TRANSIENT RCPT 452 4.5.3`));
	expect(rule.hits).toBe(2);
});

test('M37 a new transaction that breaks leaves the first one’s answers as they are', async () => {
	const sink = await narrow();
	sink.script({ stage: 'DOT', to: cy, answer: no(451, '4.3.0', 'later') });
	const answers = ['0 accepted 250', '1 accepted 250', '2 TRANSIENT DOT 451 4.3.0', '3 TRANSIENT RCPT 452 4.5.3'];
	expect(inShort(await transportTo(sink.port).send(mailTo([ann, bo, cy, di])))).toEqual(answers);
});

test('M37 M50 when the new transaction ends in silence, only those of it are in doubt', async () => {
	const sink = await narrow();
	sink.script({ stage: 'DOT', to: cy, answer: { kind: 'close' } });
	const outcome = await transportTo(sink.port).send(mailTo([ann, bo, cy, di]));
	expect(outcome).toMatchObject({
		kind: 'ambiguous',
		known: [
			{ n: 0, kind: 'accepted' },
			{ n: 1, kind: 'accepted' },
			{ n: 3, kind: 'refused', code: '452' },
		],
	});
});

test('M37 a mark that is lost before the new transaction leaves what was taken taken', async () => {
	const sink = await narrow();
	let asked = 0;
	const outcome = await transportTo(sink.port).send(mailTo([ann, bo, cy, di]), async () => ++asked === 1);
	const answers = ['0 accepted 250', '1 accepted 250', '2 TRANSIENT RCPT 452 4.5.3', '3 TRANSIENT RCPT 452 4.5.3'];
	expect(inShort(outcome)).toEqual(answers);
	expect(sink.mails).toHaveLength(1);
});

test('M48 a recipient that RCPT refused keeps that answer', async () => {
	for (const extensions of [[], ['PIPELINING']]) {
		const rules: SinkRule[] = [
			{ stage: 'RCPT', to: bo, answer: no(550, '5.1.1', 'no such user') },
			{ stage: 'DATA', answer: no(554, '5.5.1', 'no valid recipients') },
		];
		const sink = await sinkWith(rules, { extensions });
		const answers = ['0 UNKNOWN DATA 554 5.5.1', '1 PERMANENT RCPT 550 5.1.1'];
		expect(inShort(await transportTo(sink.port).send(mailTo([ann, bo])))).toEqual(answers);
	}
});

test('M49 a cut in the content is TRANSIENT', async () => {
	const sink = await sinkWith([{ stage: 'BODY', answer: { kind: 'close' } }]);
	const content = Buffer.alloc(20_000_000);
	const attachments = [{ filename: 'a.bin', contentType: 'application/octet-stream', content, contentId: null }];
	expect(inShort(await transportTo(sink.port).send(mailTo([ann], { attachments })))).toEqual(['0 TRANSIENT DATA - -']);
});

test('M50 a cut after the dot is UNKNOWN and ambiguous, and whom RCPT refused is known all the same', async () => {
	const sink = await sinkWith([
		{ stage: 'RCPT', to: bo, answer: no(550, '5.1.1', 'no such user') },
		{ stage: 'DOT', answer: { kind: 'close' } },
	]);
	const transport = transportTo(sink.port);
	expect(await transport.send(mailTo([ann]))).toEqual({
		kind: 'ambiguous',
		category: 'UNKNOWN',
		stage: 'DOT',
		code: null,
		enhancedCode: null,
		text: expect.any(String),
	});
	expect(await transport.send(mailTo([ann, bo]))).toMatchObject({
		kind: 'ambiguous',
		category: 'UNKNOWN',
		known: [{ n: 1, kind: 'refused', category: 'PERMANENT' }],
	});
});

test('M51 a server that timed out itself after the dot is TRANSIENT and ambiguous, any other not-now is clear (M52)', async () => {
	const sink = await sinkWith([{ stage: 'DOT', times: 1, answer: no(451, '4.4.2', 'timeout') }]);
	const transport = transportTo(sink.port);
	expect(await transport.send(mailTo([ann]))).toMatchObject({ kind: 'ambiguous', category: 'TRANSIENT', code: '451' });
	sink.script({ stage: 'DOT', answer: no(451, '4.3.0', 'queue file write error') });
	expect(inShort(await transport.send(mailTo([ann])))).toEqual(['0 TRANSIENT DOT 451 4.3.0']);
});

test('M42 251 and 252 at RCPT accept', async () => {
	const port = await politeBut((line) => {
		if (!line.startsWith('RCPT')) return null;
		return line.includes(ann) ? '251 will forward\r\n' : '252 cannot say\r\n';
	});
	expect(inShort(await transportTo(port).send(mailTo([ann, bo])))).toEqual(['0 accepted 250', '1 accepted 250']);
});

test('M57 a connection that is reset right after the 250 changes nothing', async () => {
	const port = await politeBut((line, socket) => {
		if (line !== '.') return null;
		socket.write('250 2.0.0 kept\r\n', () => socket.resetAndDestroy());
		return '';
	});
	expect(inShort(await transportTo(port).send(mailTo([ann])))).toEqual(['0 accepted 250']);
});

test('what a server says is kept without control characters and to 1,000 characters, of each recipient and of the attempt', async () => {
	const text = `no\u0000\u001b[31m\tsuch\u0085user ${'x'.repeat(2_000)}`;
	const sink = await sinkWith([{ stage: 'RCPT', to: bo, answer: no(550, '5.1.1', text) }]);
	const transport = transportTo(sink.port);
	const outcome = await transport.send(mailTo([ann, bo]));
	if (outcome.kind !== 'answered') throw new Error(outcome.kind);
	expect(outcome.recipients[1]?.text).toMatch(/^no \[31m such user x+$/);
	expect(outcome.recipients[1]?.text).toHaveLength(1_000);
	sink.script({ stage: 'MAIL', answer: no(451, '4.3.0', text) });
	expect(await transport.send(mailTo([ann]))).toMatchObject({
		recipients: [{ text: expect.stringMatching(/^no \[31m such user x{980}/) }],
	});
});

test('K2 line breaks in an envelope reach no line of their own: the address is refused, and the others go out', async () => {
	const sink = await sinkWith();
	const smuggled = [`${ann}>\r\nRCPT TO:<eve@example.net`, `${ann}> SIZE=1\r\nDATA`, 'ann@example.org\0'];
	const outcome = await transportTo(sink.port).send(mailTo([...smuggled, bo]));
	expect(inShort(outcome)).toEqual(['0 INVALID_INPUT RCPT - -', '1 INVALID_INPUT RCPT - -', '2 INVALID_INPUT RCPT - -', '3 accepted 250']);
	const from = { address: 'shop@example.com> SIZE=1\r\nRCPT TO:<eve@example.net', name: '' };
	expect(inShort(await transportTo(sink.port).send(mailTo([ann], { from })))).toEqual(['0 CONFIG MAIL - -']);
	expect(sink.mails.map((mail) => [mail.from, mail.to])).toEqual([['shop@example.com', [bo]]]);
});

test('K3 HTML with a picture of a megabyte in it goes out as it is, and becomes no attachment', async () => {
	const sink = await sinkWith();
	const html = `<img src="data:image/png;base64,${'A'.repeat(1_000_000)}">`;
	expect(inShort(await transportTo(sink.port).send(mailTo([ann], { html })))).toEqual(['0 accepted 250']);
	expect(sink.mails[0]?.raw.toString()).not.toMatch(/^Content-Type: image/im);
});

test('K7 a control character in a log-in is refused before anything is dialled, and the test server refuses one in any command', async () => {
	const sink = await sinkWith([], { login });
	for (const sly of [
		{ user: 'u\r\nMAIL FROM:<x@example.com>', password: 'p' },
		{ user: 'u', password: 'p\0q' },
		{ user: 'u', password: 'p\n' },
	])
		expect(inShort(await transportTo(sink.port, { auth: sly }).send(mailTo([ann])))).toEqual(['0 CONFIG CONFIG - -']);
	expect(sink.connections()).toBe(0);
	expect(await said(sink.port, 'AUTH PLAIN\u0001\r\n')).toMatch(/^501 /);
	expect(await said(sink.port, 'STARTTLS\0x\r\n')).toMatch(/^501 /);
	expect(await said(sink.port, 'MAIL FROM:<a@example.com>\rSIZE=1\r\n')).toMatch(/^501 /);
});

/** What a server answers to the first line after its greeting. */
function said(port: number, line: string): Promise<string> {
	return new Promise((resolve, reject) => {
		const socket = connect(port, '127.0.0.1').once('error', reject);
		socket.once('data', () => {
			socket.once('data', (chunk) => {
				socket.destroy();
				resolve(chunk.toString());
			});
			socket.write(line);
		});
	});
}
