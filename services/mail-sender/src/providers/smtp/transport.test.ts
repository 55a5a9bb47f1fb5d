import { afterEach, expect, test } from '@jest/globals';
import { type SinkOptions, type SinkRule, type SmtpSink, startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { ann, bo, closeAll, closeLater, inShort, mailTo, transportTo } from './testing/kit.js';
import type { SmtpTransportOptions } from './transport.js';

afterEach(closeAll);

async function sinkWith(rules: readonly SinkRule[] = [], options: SinkOptions = {}): Promise<SmtpSink> {
	const sink = closeLater(await startSmtpSink(options));
	for (const rule of rules) sink.script(rule);
	return sink;
}

test('a mail that is taken gives one accepted outcome for each recipient and the server’s own id', async () => {
	const sink = await sinkWith();
	const outcome = await transportTo(sink.port).send(mailTo([ann, bo]));
	expect(outcome).toEqual({
		kind: 'answered',
		recipients: [0, 1].map((n) => ({ n, kind: 'accepted', code: '250', enhancedCode: '2.0.0', text: 'kept as 1' })),
		providerMessageId: null,
	});
	expect(sink.mails).toMatchObject([
		{ from: 'shop@example.com', to: [ann, bo], messageId: '<01890a5d-ac96-774b-bcce-b302099a8057@example.com>' },
	]);
});

const no = (code: number, enhancedCode: string) => ({ kind: 'refuse', code, enhancedCode }) as const;
test.each<readonly [SinkRule['stage'], number, string, string]>([
	['CONN', 554, '5.7.0', 'CONFIG CONN'],
	['CONN', 421, '4.3.2', 'TRANSIENT CONN'],
	['EHLO', 550, '5.7.1', 'CONFIG EHLO'],
	['EHLO', 421, '4.3.0', 'TRANSIENT EHLO'],
	['AUTH', 535, '5.7.8', 'AUTH AUTH'],
	['AUTH', 454, '4.7.0', 'TRANSIENT AUTH'],
	['AUTH', 421, '4.3.0', 'TRANSIENT AUTH'],
	['MAIL', 550, '5.1.8', 'CONFIG MAIL'],
	['MAIL', 421, '4.3.0', 'TRANSIENT MAIL'],
	['RCPT', 550, '5.1.1', 'PERMANENT RCPT'],
	['RCPT', 421, '4.3.0', 'TRANSIENT RCPT'],
	['DATA', 451, '4.3.0', 'TRANSIENT DATA'],
	['DATA', 421, '4.3.0', 'TRANSIENT DATA'],
	['DOT', 550, '5.7.1', 'PERMANENT DOT'],
	['DOT', 421, '4.3.0', 'TRANSIENT DOT'],
	['DOT', 451, '4.3.0', 'TRANSIENT DOT'],
])('F24 F25 a refusal at %s with %i is read as such, with and without pipelining', async (stage, code, enhancedCode, expected) => {
	for (const extensions of [[], ['PIPELINING']]) {
		const login = { username: 'u', password: 'p' };
		const sink = await sinkWith([{ stage, answer: no(code, enhancedCode) }], { extensions, login });
		const outcome = await transportTo(sink.port, { auth: { user: 'u', password: 'p' } }).send(mailTo([ann, bo]));
		expect(inShort(outcome)).toEqual([0, 1].map((n) => `${n} ${expected} ${code} ${enhancedCode}`));
		expect(sink.mails).toEqual([]);
	}
});

const stages: readonly SinkRule['stage'][] = ['CONN', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA'];
test.each(stages)('F26 F27 a connection cut at %s before the dot is TRANSIENT, and no mail is ambiguous', async (stage) => {
	for (const extensions of [[], ['PIPELINING']]) {
		const sink = await sinkWith([{ stage, answer: { kind: 'close' } }], { extensions, login: { username: 'u', password: 'p' } });
		const outcome = await transportTo(sink.port, { auth: { user: 'u', password: 'p' } }).send(mailTo([ann]));
		expect(inShort(outcome)).toEqual([`0 TRANSIENT ${stage} - -`]);
	}
});

/** Long enough to reach every stage on a busy machine; the cases run side by side, so it is waited for once. */
const PATIENCE_MS = 4_000;

test('F26 F28 a server that falls silent is given up at the stage where it did, by the deadline and by the read time-out', async () => {
	const cases = stages.flatMap((stage) => [[], ['PIPELINING']].map((extensions) => ({ stage, extensions })));
	const outcomes = cases.map(async ({ stage, extensions }) => {
		const sink = await sinkWith([{ stage, answer: { kind: 'hang' } }], { extensions, login: { username: 'u', password: 'p' } });
		const auth = { user: 'u', password: 'p' };
		const both = await Promise.all(
			[{ deadlineMs: PATIENCE_MS }, { readMs: PATIENCE_MS }].map((limit) => transportTo(sink.port, { auth }, limit).send(mailTo([ann]))),
		);
		return both.map(inShort);
	});
	expect(await Promise.all(outcomes)).toEqual(cases.map(({ stage }) => [[`0 TRANSIENT ${stage} - -`], [`0 TRANSIENT ${stage} - -`]]));
}, 60_000);

test('F27 a cut or a silence in the middle of the content is TRANSIENT at DATA', async () => {
	const large = mailTo([ann], {
		attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', content: Buffer.alloc(20_000_000), contentId: null }],
	});
	for (const answer of [{ kind: 'close' }, { kind: 'hang' }] as const) {
		const sink = await sinkWith([{ stage: 'BODY', answer }]);
		const outcome = await transportTo(sink.port, {}, { deadlineMs: 8_000 }).send(large);
		expect(inShort(outcome)).toEqual(['0 TRANSIENT DATA - -']);
		expect(sink.mails).toEqual([]);
	}
});

test.each<readonly [string, SinkRule['answer'], Partial<SmtpTransportOptions>]>([
	['a cut', { kind: 'close' }, {}],
	['a cut of a mail that was kept', { kind: 'close', kept: true }, {}],
	['silence until the deadline', { kind: 'hang' }, { deadlineMs: PATIENCE_MS }],
	['silence until the read time-out', { kind: 'hang' }, { readMs: PATIENCE_MS }],
])('%s after the dot is ambiguous', async (_, answer, options) => {
	const sink = await sinkWith([{ stage: 'DOT', answer }]);
	for (const begin of [undefined, async () => true]) {
		expect(await transportTo(sink.port, {}, options).send(mailTo([ann]), begin)).toMatchObject({
			kind: 'ambiguous',
			stage: 'DOT',
			code: null,
		});
	}
});

test('K4 M51 a server that says it timed out after the dot leaves it ambiguous', async () => {
	const sink = await sinkWith([{ stage: 'DOT', answer: { kind: 'refuse', code: 451, enhancedCode: '4.4.2', text: 'timeout' } }]);
	expect(await transportTo(sink.port).send(mailTo([ann]))).toMatchObject({ kind: 'ambiguous', category: 'TRANSIENT', code: '451' });
});

test('F30 one recipient refused and one accepted are told apart, also when the whole is refused later', async () => {
	for (const extensions of [[], ['PIPELINING']]) {
		const rule: SinkRule = { stage: 'RCPT', to: bo, answer: no(550, '5.1.1') };
		const sink = await sinkWith([rule], { extensions });
		const transport = transportTo(sink.port);
		expect(inShort(await transport.send(mailTo([ann, bo])))).toEqual(['0 accepted 250', '1 PERMANENT RCPT 550 5.1.1']);
		expect(sink.mails).toMatchObject([{ to: [ann] }]);
		sink.script({ stage: 'DOT', answer: no(452, '4.3.1') });
		expect(inShort(await transport.send(mailTo([bo, ann])))).toEqual(['0 PERMANENT RCPT 550 5.1.1', '1 TRANSIENT DOT 452 4.3.1']);
	}
});

test('all recipients refused each keep their own answer', async () => {
	for (const extensions of [[], ['PIPELINING']]) {
		const rules: SinkRule[] = [
			{ stage: 'RCPT', to: ann, answer: no(450, '4.7.1') },
			{ stage: 'RCPT', to: bo, answer: no(550, '5.1.1') },
		];
		const sink = await sinkWith(rules, { extensions });
		expect(inShort(await transportTo(sink.port).send(mailTo([ann, bo])))).toEqual([
			'0 TRANSIENT RCPT 450 4.7.1',
			'1 PERMANENT RCPT 550 5.1.1',
		]);
	}
});

test('two recipients with one address share its RCPT and its answer', async () => {
	const sink = await sinkWith();
	expect(inShort(await transportTo(sink.port).send(mailTo(['ann@EXAMPLE.org', ann])))).toEqual(['0 accepted 250', '1 accepted 250']);
	expect(sink.mails).toMatchObject([{ to: [ann] }]);
});

test('F30 only open recipients are addressed', async () => {
	const sink = await sinkWith();
	const mail = mailTo([ann, bo]);
	const recipients = mail.recipients.map((one) => ({ ...one, open: one.address === bo }));
	expect(inShort(await transportTo(sink.port).send({ ...mail, recipients }))).toEqual(['1 accepted 250']);
	expect(sink.mails).toMatchObject([{ to: [bo] }]);
});

test('K1 an address that hides another one is refused and the others go out', async () => {
	const sink = await sinkWith();
	const outcome = await transportTo(sink.port).send(mailTo(['"eve@other.example x"@example.org', 'a@b.example, c@d.example', ann]));
	expect(inShort(outcome)).toEqual(['0 INVALID_INPUT RCPT - -', '1 INVALID_INPUT RCPT - -', '2 accepted 250']);
	expect(sink.mails).toMatchObject([{ to: [ann] }]);
});

test('F30 M26 an address beyond ASCII goes out where SMTPUTF8 is offered and is refused where it is not', async () => {
	const mail = mailTo(['用户@例え.jp', ann]);
	const with8 = await sinkWith([], { extensions: ['SMTPUTF8'] });
	expect(inShort(await transportTo(with8.port).send(mail))).toEqual(['0 accepted 250', '1 accepted 250']);
	expect(with8.mails).toMatchObject([{ to: ['用户@例え.jp', ann] }]);
	const without = await sinkWith([], { extensions: [] });
	const transport = transportTo(without.port);
	expect(inShort(await transport.send(mail))).toEqual([0, 1].map((n) => `${n} INVALID_INPUT MAIL - -`));
	expect(inShort(await transport.send(mailTo(['ann@例え.jp'])))).toEqual(['0 accepted 250']);
	expect(without.mails).toMatchObject([{ to: ['ann@xn--r8jz45g.jp'] }]);
});
