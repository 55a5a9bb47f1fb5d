import { afterEach, expect, test } from '@jest/globals';
import { type SinkStage, startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { ann, closeAll, closeLater, inShort, mailTo, transportTo } from './testing/kit.js';

afterEach(closeAll);

const STAGES = ['CONN', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'DOT'] as const satisfies readonly SinkStage[];

/** What becomes of a mail whose server answers each stage with this code and without a word that says more, with and without pipelining. */
async function categoriesOf(code: number): Promise<string[]> {
	const login = { username: 'u', password: 'p' };
	const cases = STAGES.flatMap((stage) => [[], ['PIPELINING']].map((extensions) => ({ stage, extensions })));
	const found = cases.map(async ({ stage, extensions }) => {
		const sink = closeLater(await startSmtpSink({ extensions, login }));
		sink.script({ stage, answer: { kind: 'refuse', code, text: 'no' } });
		const outcome = await transportTo(sink.port, { auth: { user: 'u', password: 'p' } }).send(mailTo([ann]));
		expect(sink.mails).toEqual([]);
		return inShort(outcome).map((one) => one.replace('0 ', ''));
	});
	return [...new Set((await Promise.all(found)).flat())];
}

const at = (category: (stage: SinkStage) => string, code: number): string[] =>
	STAGES.map((stage) => `${category(stage)} ${stage} ${code} -`);

test.each([421, 450, 451, 452, 454])('F24 a bare %i is TRANSIENT at whatever stage, and never ambiguous', async (code) => {
	expect(await categoriesOf(code)).toEqual(at(() => 'TRANSIENT', code));
});

/** Where a bare code says more than that this mail is refused for good. */
const SAYS_MORE: Readonly<Record<string, string>> = { 'AUTH 535': 'AUTH', 'EHLO 550': 'CONFIG', 'CONN 554': 'CONFIG' };

test.each([535, 550, 552, 553, 554])('F25 a bare %i is judged by its stage', async (code) => {
	expect(await categoriesOf(code)).toEqual(at((stage) => SAYS_MORE[`${stage} ${code}`] ?? 'PERMANENT', code));
});
