import { expect, test } from '@jest/globals';
import type { Outcome, RecipientOutcome, Refusal } from '@tidings/model';
import { gateVerdict } from './gate-verdict.js';

const FLOOR = 300;
const no = (change: Partial<Refusal>): RecipientOutcome => ({
	n: 0,
	kind: 'refused',
	category: 'TRANSIENT',
	stage: 'RCPT',
	code: '451',
	enhancedCode: null,
	text: 'no',
	...change,
});
const yes: RecipientOutcome = { n: 1, kind: 'accepted', code: '250', enhancedCode: null, text: 'ok' };
const answered = (...recipients: RecipientOutcome[]): Outcome => ({ kind: 'answered', recipients, providerMessageId: null });
const verdict = (...recipients: RecipientOutcome[]) => gateVerdict(answered(...recipients), FLOOR);

test('F25 a refused log-in closes for AUTH, until something is mended', () => {
	const refused = no({ category: 'AUTH', stage: 'AUTH', code: '535', enhancedCode: '5.7.8' });
	expect(verdict(refused, refused)).toMatchObject({ kind: 'close', reason: 'AUTH', seconds: null, refusal: { code: '535' } });
	expect(verdict(no({ category: 'AUTH', stage: 'MAIL', code: '530' }))).toMatchObject({ kind: 'close', reason: 'AUTH' });
});

test.each(['CONFIG', 'CONN', 'TLS', 'EHLO', 'AUTH'] as const)('a fault of the config at %s closes for CONFIG', (stage) => {
	expect(verdict(no({ category: 'CONFIG', stage, code: null }))).toMatchObject({ kind: 'close', reason: 'CONFIG', seconds: null });
});

test('an unknown final no before a mail is named is about us: it closes for CONFIG, and costs one mail, not all', () => {
	expect(verdict(no({ category: 'PERMANENT', stage: 'AUTH', code: '550' }))).toMatchObject({ kind: 'close', reason: 'CONFIG' });
});

test('M10 STARTTLS that must come first, said at MAIL, is refused to every sender alike: it closes for CONFIG', () => {
	const refused = no({ category: 'CONFIG', stage: 'MAIL', code: '530', enhancedCode: '5.7.0' });
	expect(verdict(refused)).toMatchObject({ kind: 'close', reason: 'CONFIG', seconds: null });
});

test.each(['MAIL', 'RCPT', 'DOT'] as const)('a fault of the config at %s is about that mail: the server talks to us', (stage) => {
	expect(verdict(no({ category: 'CONFIG', stage, code: '550' }))).toEqual({ kind: 'alive' });
});

test.each(['CONN', 'TLS', 'EHLO', 'AUTH'] as const)('what passes, or nobody understands, at %s is a strike', (stage) => {
	expect(verdict(no({ stage, code: null }))).toMatchObject({ kind: 'strike' });
	expect(verdict(no({ stage, category: 'UNKNOWN', code: '421' }))).toMatchObject({ kind: 'strike' });
});

test('a spent allowance of the account closes for as long as the provider asks, and no less than the floor', () => {
	const spent = no({ category: 'QUOTA', stage: 'DOT', code: '550', enhancedCode: '5.4.5' });
	expect(verdict(spent)).toMatchObject({ kind: 'close', reason: 'QUOTA', seconds: FLOOR });
	expect(verdict({ ...spent, retryAfterSeconds: 900 } as RecipientOutcome)).toMatchObject({ seconds: 900 });
	expect(verdict(no({ category: 'QUOTA', stage: 'RCPT', code: '452', enhancedCode: '4.5.3' }))).toMatchObject({ reason: 'QUOTA' });
});

test("a mailbox that receives too quickly is its own allowance, not the account's", () => {
	expect(verdict(no({ category: 'QUOTA', stage: 'RCPT', code: '450', enhancedCode: '4.2.1' }))).toEqual({ kind: 'alive' });
});

test('any yes, and any answer about a recipient or a mail, shows that the provider works', () => {
	expect(verdict(yes)).toEqual({ kind: 'alive' });
	expect(verdict(yes, no({ category: 'AUTH', stage: 'AUTH' }))).toEqual({ kind: 'alive' });
	expect(verdict(no({ category: 'PERMANENT', code: '550', enhancedCode: '5.1.1' }))).toEqual({ kind: 'alive' });
	expect(verdict(no({ category: 'TRANSIENT', stage: 'DOT', code: '452' }))).toEqual({ kind: 'alive' });
});

test('a cut line, an unknown end and what was given back show nothing', () => {
	expect(verdict(no({ stage: 'DATA', code: null }))).toEqual({ kind: 'nothing' });
	expect(verdict()).toEqual({ kind: 'nothing' });
	expect(gateVerdict({ kind: 'given-back' }, FLOOR)).toEqual({ kind: 'nothing' });
	expect(gateVerdict({ kind: 'ambiguous', category: 'UNKNOWN', stage: 'DOT', code: null, enhancedCode: null, text: '' }, FLOOR)).toEqual({
		kind: 'nothing',
	});
});
