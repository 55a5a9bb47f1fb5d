import { afterEach, expect, test } from '@jest/globals';
import { startForeignServer } from '../../../../../test/harness/foreign-tls.js';
import { type SinkOptions, type SmtpSink, startSmtpSink } from '../../../../../test/harness/smtp-sink.js';
import { closeAll, closeLater, transportTo } from './testing/kit.js';

// The log-in without a mail by which a closed gate finds out whether its server lets us in again.

afterEach(closeAll);

const LOGIN = { username: 'shop', password: 'right password' };

async function sinkWith(options: SinkOptions = {}): Promise<SmtpSink> {
	return closeLater(await startSmtpSink(options));
}

test('a server that lets us in is left again without a mail', async () => {
	const sink = await sinkWith({ login: LOGIN });
	const mail = sink.script({ stage: 'MAIL', answer: { kind: 'close' } });
	const quit = sink.script({ stage: 'QUIT', answer: { kind: 'close' } });
	expect(await transportTo(sink.port, { auth: { user: LOGIN.username, password: LOGIN.password } }).probe()).toBeNull();
	await quit.met();
	expect(mail.hits).toBe(0);
	expect(await transportTo((await sinkWith()).port).probe()).toBeNull();
});

test('F25 a wrong password is AUTH, in the server’s words, and without the password', async () => {
	const sink = await sinkWith({ login: LOGIN });
	const refusal = await transportTo(sink.port, { auth: { user: 'shop', password: 'wrong password' } }).probe();
	expect(refusal).toMatchObject({ category: 'AUTH', stage: 'AUTH', code: '535' });
	expect(refusal?.text).not.toContain('wrong password');
});

test('F29 STARTTLS that is missing, and a certificate of somebody else, are CONFIG', async () => {
	const plain = await sinkWith();
	expect(await transportTo(plain.port, { security: 'starttls' }).probe()).toMatchObject({ category: 'CONFIG', stage: 'TLS' });
	const foreign = closeLater(await startForeignServer());
	expect(await transportTo(foreign.port, { security: 'tls' }).probe()).toMatchObject({ category: 'CONFIG', stage: 'TLS' });
});

test('a host where nobody listens, and one that cuts the line, are TRANSIENT', async () => {
	const gone = await startSmtpSink();
	await gone.close();
	expect(await transportTo(gone.port).probe()).toMatchObject({ category: 'TRANSIENT', stage: 'CONN' });
	const rude = await sinkWith();
	rude.script({ stage: 'EHLO', answer: { kind: 'close' } });
	expect(await transportTo(rude.port).probe()).toMatchObject({ category: 'TRANSIENT', stage: 'EHLO' });
});

test('F28 a server that never answers costs no more than the deadline, and its line is closed', async () => {
	const silent = await sinkWith();
	const hang = silent.script({ stage: 'EHLO', answer: { kind: 'hang' } });
	const probing = transportTo(silent.port, {}, { deadlineMs: 100 }).probe();
	await hang.met();
	expect(await probing).toMatchObject({ category: 'TRANSIENT', stage: 'CONN', text: 'The log-in was not over within 0.1 s.' });
});

test('F39 a probe ends at once when the sender stops', async () => {
	const silent = await sinkWith();
	const hang = silent.script({ stage: 'EHLO', answer: { kind: 'hang' } });
	const stop = new AbortController();
	const probing = transportTo(silent.port).probe(stop.signal);
	await hang.met();
	stop.abort();
	expect(await probing).not.toBeNull();
});
