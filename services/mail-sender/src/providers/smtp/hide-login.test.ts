import { afterEach, expect, test } from '@jest/globals';
import { startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { createHide } from './hide-login.js';
import { ann, bo, closeAll, closeLater, mailTo, transportTo } from './testing/kit.js';

afterEach(closeAll);

const auth = { user: 'shop', password: 'pa$$w/o"rd 王' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** The password as a server may have got it. */
const SAID = [auth.password, base64(auth.password), base64(`\0${auth.user}\0${auth.password}`), encodeURIComponent(auth.password)];

test('a password is taken out of a text in every form in which a server got it', () => {
	const hide = createHide(auth);
	for (const said of SAID) expect(hide(`no: ${said}, ${said}!`)).toBe('no: [password], [password]!');
	expect(hide('no such user: shop')).toBe('no such user: shop');
	expect(hide(base64(auth.password).replaceAll('=', ''))).toBe('[password]');
});

test('without a log-in nothing is taken out, nor is a password that any text may hold by chance', () => {
	expect(createHide(null)('535 no')).toBe('535 no');
	expect(createHide({ user: 'shop', password: '5' })('535 5.7.8 no')).toBe('535 5.7.8 no');
	const hide = createHide({ user: 'shop', password: 'wrong' });
	expect(hide('535 5.7.8 wrong name or password')).toBe('535 5.7.8 wrong name or password');
	expect(hide(`535 ${base64('wrong')}`)).toBe('535 [password]');
	expect(createHide({ user: 'shop', password: '' })('535 no')).toBe('535 no');
});

test.each(['AUTH', 'MAIL', 'RCPT', 'DATA', 'DOT'] as const)('what a server says at %s is kept without the password', async (stage) => {
	const login = { username: auth.user, password: auth.password };
	for (const [code, to] of [[550], [421], [250], [550, ann]] as const) {
		const sink = closeLater(await startSmtpSink({ login }));
		const text = `2.0.0 queued as ${SAID[1]} for ${SAID.join(' ')}`;
		sink.script({ stage, answer: { kind: 'refuse', code, text }, ...(to === undefined ? {} : { to }) });
		const outcome = JSON.stringify(await transportTo(sink.port, { auth }).send(mailTo([ann, bo])));
		for (const said of SAID) expect(outcome).not.toContain(JSON.stringify(said).slice(1, -1));
	}
});
