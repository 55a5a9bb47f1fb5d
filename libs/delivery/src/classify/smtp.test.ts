import { expect, test } from '@jest/globals';
import type { Category, Stage } from '@tidings/model';
import { parseReply } from './parse-reply.js';
import { classifySmtp, isForNumber, type SmtpVerdict } from './smtp.js';
import { REPLY_ROWS, SILENCE_ROWS } from './smtp-rows.js';

const ofReply = (stage: Stage, reply: string): SmtpVerdict => classifySmtp({ stage, ...parseReply(reply), errno: null });
const ofSilence = (stage: Stage, errno: string): SmtpVerdict => classifySmtp({ stage, code: null, enhancedCode: null, text: '', errno });

/** What a row says besides its category. */
type More = 'addr' | 'amb';

const replies: readonly (readonly [string, Stage, string, Category, More?])[] = [
	['M4 a server that closes at once', 'CONN', '421 4.3.2 try again later', 'TRANSIENT'],
	['M5 a host that takes no mail', 'CONN', '554 no SMTP service here', 'CONFIG'],
	['M5 a host that takes no mail', 'CONN', '521 does not accept mail', 'CONFIG'],
	['M5 a host that takes no mail, with the code of trouble', 'CONN', '554 5.3.2 no service here', 'CONFIG'],
	['M8 STARTTLS that is needed and not there', 'TLS', '502 5.5.1 command not implemented', 'CONFIG'],
	['M8 STARTTLS that is needed and not there', 'TLS', '500 what?', 'CONFIG'],
	['M9 TLS that is away for now', 'TLS', '454 4.7.0 TLS not available due to temporary reason', 'TRANSIENT'],
	['M10 a log-in before TLS', 'MAIL', '530 5.7.0 must issue a STARTTLS command first', 'CONFIG'],
	['M10 a log-in before TLS', 'MAIL', '530 5.7.0 must issue STARTTLS before authentication', 'CONFIG'],
	['M10 a log-in before TLS', 'AUTH', '530 5.7.0 Must issue a STARTTLS command first', 'CONFIG'],
	['M11 our name refused', 'EHLO', '550 your name is refused', 'CONFIG'],
	['M11 our name refused', 'EHLO', '504 5.5.2 need a fully-qualified hostname', 'CONFIG'],
	['M11 our name refused', 'EHLO', '501 5.5.2 invalid domain name', 'CONFIG'],
	['M12 a wrong password', 'AUTH', '535 5.7.8 authentication credentials invalid', 'AUTH'],
	['M12 a wrong password', 'AUTH', '535 身份验证失败', 'AUTH'],
	['M13 a log-in that fails for now', 'AUTH', '454 4.7.0 temporary authentication failure', 'TRANSIENT'],
	['M14 a mechanism too weak', 'AUTH', '534 5.7.9 application-specific password required', 'AUTH'],
	['M14 a mechanism too weak', 'AUTH', '534 please log in via your web browser', 'AUTH'],
	['M15 a log-in that wants encryption', 'AUTH', '538 5.7.11 encryption required', 'CONFIG'],
	['M16 a password that must be changed ★', 'AUTH', '432 4.7.12 a password transition is needed', 'AUTH'],
	['M16 a password that must be changed ★', 'AUTH', '432 5.7.12 change your password', 'AUTH'],
	['M17 a mechanism that is not there', 'AUTH', '504 5.5.4 mechanism not supported', 'CONFIG'],
	['M17 a mechanism that is not there', 'AUTH', '502 5.5.1 what?', 'CONFIG'],
	['M17 a mechanism that is not there', 'AUTH', '503 5.5.1 error: authentication not enabled', 'CONFIG'],
	['M18 a server that wants a log-in', 'MAIL', '530 5.7.57 client not authenticated', 'AUTH'],
	['M18 a server that wants a log-in', 'MAIL', '530 5.7.0 authentication required', 'AUTH'],
	['M18 a server that wants a log-in', 'RCPT', '530 需要登录', 'AUTH'],
	['M19 too many log-ins ★', 'AUTH', '421 4.7.0 too many failed logins', 'QUOTA'],
	['M19 too many log-ins ★', 'AUTH', '451 登录次数过多', 'QUOTA'],
	['M20 an address that is not ours', 'MAIL', '550 5.7.60 client does not have permissions to send as this sender', 'CONFIG'],
	['M20 an address that is not ours', 'DOT', '554 5.7.60 SendAsDenied', 'CONFIG'],
	['M20 an address that is not ours', 'RCPT', '553 5.7.1 <a@example.com>: sender address rejected: not owned by user b', 'CONFIG'],
	['M21 an identity that was not proven ★', 'DOT', '554 message rejected: email address is not verified', 'CONFIG'],
	['M21 an identity that was not proven ★', 'MAIL', '554 4.7.1 发信域名未验证', 'CONFIG'],
	['M22 a sender that is no address', 'MAIL', '553 5.1.7 bad sender address syntax', 'CONFIG'],
	['M22 a sender that is no address', 'MAIL', '501 malformed sender', 'CONFIG'],
	['M23 a sender that is refused', 'MAIL', '550 5.1.8 sender domain not found', 'CONFIG'],
	['M23 a sender that is refused', 'MAIL', '550 sender blocked', 'CONFIG'],
	['M24 a mail that is too large', 'MAIL', '552 5.3.4 message size exceeds fixed maximum message size', 'INVALID_INPUT'],
	['M24 a mail that is too large', 'DOT', '552 5.2.3 no', 'INVALID_INPUT'],
	['M24 a mail that is too large', 'DOT', '552 邮件过大', 'INVALID_INPUT'],
	['M25 a disk that is full', 'MAIL', '452 4.3.1 insufficient system storage', 'TRANSIENT'],
	['M25 a disk that is full', 'DOT', '452 4.3.1 no', 'TRANSIENT'],
	['M26 an address beyond ASCII', 'RCPT', '550 5.6.7 internationalised address not supported', 'INVALID_INPUT'],
	['M26 an address beyond ASCII', 'RCPT', '553 address needs SMTPUTF8', 'INVALID_INPUT'],
	['M27 nobody’s address', 'RCPT', '550 5.1.1 user unknown', 'PERMANENT', 'addr'],
	['M27 nobody’s address', 'RCPT', '550 no such user', 'PERMANENT', 'addr'],
	['M27 nobody’s address', 'RCPT', '553 用户不存在', 'PERMANENT', 'addr'],
	['M27 nobody’s address', 'RCPT', '550 收件人邮箱不存在: ann@example.com', 'PERMANENT', 'addr'],
	['M27 nobody’s address', 'DOT', '550 5.1.1 no', 'PERMANENT', 'addr'],
	['M27 nobody’s address', 'RCPT', '550-5.1.1 The email account that you tried to reach does not exist.', 'PERMANENT', 'addr'],
	[
		'M27 nobody’s address, at a host whose name says another thing',
		'RCPT',
		'550 5.1.1 <ann@relay.example>: user unknown',
		'PERMANENT',
		'addr',
	],
	['M28 nobody’s domain', 'RCPT', '550 5.1.2 no such domain', 'PERMANENT', 'addr'],
	['M28 nobody’s domain', 'RCPT', '550 5.4.4 no', 'PERMANENT', 'addr'],
	['M28 nobody’s domain', 'RCPT', '550 域名不存在', 'PERMANENT', 'addr'],
	['M29 a domain that takes no mail', 'RCPT', '550 5.1.10 null MX', 'PERMANENT', 'addr'],
	['M29 a domain that takes no mail', 'RCPT', '556 no', 'PERMANENT', 'addr'],
	['M30 an address that is none', 'RCPT', '553 5.1.3 bad address syntax', 'INVALID_INPUT', 'addr'],
	['M30 an address that is none', 'RCPT', '501 syntax error in recipient address', 'INVALID_INPUT', 'addr'],
	['M31 a mailbox that is disabled', 'RCPT', '550 5.2.1 mailbox disabled', 'PERMANENT', 'addr'],
	['M31 a mailbox that is disabled', 'RCPT', '550 该邮箱已停用', 'PERMANENT', 'addr'],
	['M31 a mailbox that is disabled', 'RCPT', '550 5.2.1 no', 'PERMANENT', 'addr'],
	['M32 somebody who has moved', 'RCPT', '551 5.1.6 moved to elsewhere', 'PERMANENT', 'addr'],
	['M32 somebody who has moved', 'RCPT', '551 user not local', 'PERMANENT', 'addr'],
	['M33 a recipient who gets too much just now ★', 'RCPT', '450 4.2.1 the user is receiving mail too quickly', 'QUOTA'],
	['M33 a recipient who gets too much just now ★', 'RCPT', '550 5.2.1 the user is receiving mail too quickly', 'QUOTA'],
	['M33 a recipient who gets too much just now ★', 'RCPT', '450 5.2.1 no', 'QUOTA'],
	['M33 a recipient who gets too much just now ★', 'RCPT', '550 4.2.1 receiving mail at a rate that prevents delivery', 'QUOTA'],
	['M34 a server that greylists', 'RCPT', '450 4.7.1 greylisted, try again later', 'TRANSIENT'],
	['M34 a server that greylists', 'RCPT', '451 请稍后再试', 'TRANSIENT'],
	['M35 a full mailbox', 'RCPT', '452 4.2.2 mailbox over its storage limit', 'TRANSIENT'],
	['M36 a full mailbox, said with a 5 ★', 'RCPT', '552 5.2.2 mailbox full', 'TRANSIENT'],
	['M36 a full mailbox, said with a 5 ★', 'DOT', '550 5.2.2 no', 'TRANSIENT'],
	['M36 a full mailbox, said with a 5 ★', 'RCPT', '550 4.2.2 mailbox full', 'TRANSIENT'],
	['M36 a full mailbox, said with a 5 ★', 'RCPT', '552 邮箱空间已满', 'TRANSIENT'],
	['M37 too many recipients', 'RCPT', '452 4.5.3 too many recipients', 'TRANSIENT'],
	['M37 too many recipients', 'RCPT', '452 too many recipients, the limit is 100 per message', 'TRANSIENT'],
	['M38 too many recipients, said with a 5 ★', 'RCPT', '552 5.5.3 too many recipients', 'TRANSIENT'],
	['M38 too many recipients, said with a 5 ★', 'RCPT', '552 too many recipients', 'TRANSIENT'],
	['M39 a limit of a day or an hour ★', 'RCPT', '452 4.5.3 daily limit reached', 'QUOTA'],
	['M39 a limit of a day or an hour ★', 'MAIL', '452 4.5.3 too many recipients per hour', 'QUOTA'],
	['M39 a limit of a day or an hour ★', 'RCPT', '452 收件人数量超过每日上限', 'QUOTA'],
	['M40 a server that does not relay', 'RCPT', '554 5.7.1 <a@example.com>: relay access denied', 'CONFIG'],
	['M40 a server that does not relay', 'RCPT', '550 5.7.1 unable to relay', 'CONFIG'],
	['M40 a server that does not relay', 'RCPT', '550 relaying denied', 'CONFIG'],
	['M41 a policy', 'RCPT', '554 5.7.1 client host blocked', 'PERMANENT'],
	['M41 a policy', 'RCPT', '550 listed as a spam source', 'PERMANENT'],
	['M41 a policy', 'RCPT', '550 5.7.1 no', 'PERMANENT'],
	['M43 a daily limit ★', 'RCPT', '550 5.4.5 daily user sending limit exceeded', 'QUOTA'],
	['M43 a daily limit ★', 'DOT', '550 4.4.5 daily sending quota exceeded', 'QUOTA'],
	['M44 a frequency ★', 'MAIL', '550 Ip frequency limited', 'QUOTA'],
	['M44 a frequency ★', 'CONN', '550 Connection frequency limited', 'QUOTA'],
	['M44 a frequency ★', 'DOT', '550 Sender frequency limited', 'QUOTA'],
	['M44 a frequency ★', 'RCPT', '550 域名发信频率受限', 'QUOTA'],
	['M45 an unusual rate', 'MAIL', '421 4.7.28 unusual rate of unsolicited mail', 'QUOTA'],
	['M45 a limit of threads', 'RCPT', '432 4.3.2 sender thread limit exceeded', 'QUOTA'],
	['M45 a limit of threads', 'MAIL', '421 4.3.2 no', 'QUOTA'],
	['M45 a limit of connections', 'CONN', '421 HL:IFC', 'QUOTA'],
	['M46 a throttle ★', 'MAIL', '454 Throttling failure: maximum sending rate exceeded', 'QUOTA'],
	['M46 a throttle ★', 'DOT', '454 Throttling failure: daily message quota exceeded', 'QUOTA'],
	['M47 a loop', 'RCPT', '554 5.4.6 routing loop detected', 'PERMANENT'],
	['M47 a loop', 'DOT', '554 too many hops', 'PERMANENT'],
	['M48 no valid recipient, for one that RCPT took ★', 'DATA', '554 5.5.1 no valid recipients', 'UNKNOWN'],
	['M51 a server that timed out itself ★', 'DOT', '451 4.4.2 bad connection', 'TRANSIENT', 'amb'],
	['M51 a server that timed out itself ★', 'DOT', '451 timeout waiting for the queue', 'TRANSIENT', 'amb'],
	['M51 a server that timed out itself ★', 'DOT', '451 5.4.2 超时', 'TRANSIENT', 'amb'],
	['M52 any other not-now after the dot', 'DOT', '451 4.3.0 queue file write error', 'TRANSIENT'],
	['M52 any other not-now after the dot', 'DOT', '421 4.3.0 closing', 'TRANSIENT'],
	['M53 what the mail holds', 'DOT', '550 5.7.1 content rejected', 'PERMANENT'],
	['M53 what the mail holds', 'DOT', '554 垃圾邮件', 'PERMANENT'],
	['M53 what the mail holds', 'DOT', '552 5.6.0 no', 'PERMANENT'],
	['M54 the set-up of our domain ★', 'DOT', '550 5.7.1 DMARC check failed', 'CONFIG'],
	['M54 the set-up of our domain ★', 'DOT', '550 5.7.23 no', 'CONFIG'],
	['M55 trouble said with a 5 ★', 'DOT', '554 5.3.0 trouble', 'UNKNOWN'],
	['M55 trouble said with a 5 ★', 'RCPT', '554 4.3.2 no', 'UNKNOWN'],
	['M55 trouble said with a 5 ★', 'CONN', '554 5.3.2 system not accepting network messages', 'UNKNOWN'],
	['M56 a broken protocol', 'DATA', '503 5.5.1 bad sequence of commands', 'UNKNOWN'],
	['M56 a broken protocol', 'MAIL', '500 command unrecognized', 'UNKNOWN'],
	['M56 a broken protocol', 'AUTH', '503 5.5.1 bad sequence', 'UNKNOWN'],
	['M58 an answer that is no refusal', 'DATA', '250 ok', 'UNKNOWN'],
	['M58 an answer that is no refusal after the dot', 'DOT', '354 go on', 'UNKNOWN', 'amb'],
	['M58 another language', 'CONN', 'HTTP/1.1 400 Bad Request', 'UNKNOWN'],
	['M58 another language after the dot', 'DOT', 'what?', 'UNKNOWN', 'amb'],
	['M59 any other not-now', 'MAIL', '451 4.3.0 try again', 'TRANSIENT'],
	['M59 a server that shuts down, with the code of a limit', 'MAIL', '421 4.3.2 service not available', 'TRANSIENT'],
	['M60 any other no', 'RCPT', '550 5.0.0 no', 'PERMANENT'],
	// The first digits disagree, and the row is none that decides: the basic code does.
	['M59 a 450 that says 5.1.1', 'RCPT', '450 5.1.1 user unknown', 'TRANSIENT'],
	['M60 a 550 that says 4.1.1, of which the address is not blamed', 'RCPT', '550 4.1.1 user unknown', 'PERMANENT'],
	['M60 a 553 that says 4.1.3', 'RCPT', '553 4.1.3 bad address syntax', 'PERMANENT'],
];

test.each(replies)('%s: at %s "%s" is %s', (name, stage, reply, category, more: More | 'no more' = 'no more') => {
	const verdict = { row: name.split(' ')[0], category, ambiguous: more === 'amb', aboutAddress: more === 'addr' };
	expect(ofReply(stage, reply)).toEqual(verdict);
});

const silences: readonly (readonly [string, Stage, string, Category])[] = [
	['M1 a resolver that is down', 'CONN', 'EAI_AGAIN', 'TRANSIENT'],
	['M1 a host that is not found, which a resolver that is down says too', 'CONN', 'ENOTFOUND', 'TRANSIENT'],
	['M2 a port that nobody listens on', 'CONN', 'ECONNREFUSED', 'TRANSIENT'],
	['M2 a host that is not reached', 'CONN', 'EHOSTUNREACH', 'TRANSIENT'],
	['M2 a host that does not answer', 'CONN', 'ETIMEDOUT', 'TRANSIENT'],
	['M2 a connection that is cut at once', 'CONN', 'ECONNRESET', 'TRANSIENT'],
	['M3 a server that never greets', 'CONN', 'ENOGREETING', 'TRANSIENT'],
	['M6 an expired certificate', 'TLS', 'CERT_HAS_EXPIRED', 'CONFIG'],
	['M6 a certificate for another host', 'TLS', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CONFIG'],
	['M6 a self-signed certificate', 'TLS', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'CONFIG'],
	['M7 a handshake that is cut', 'TLS', 'ECONNRESET', 'TRANSIENT'],
	['M26 a server without SMTPUTF8', 'MAIL', 'ENOSMTPUTF8', 'INVALID_INPUT'],
	['M49 a cut before the dot', 'DATA', 'ECONNRESET', 'TRANSIENT'],
	['M49 a silence before the dot', 'RCPT', 'ETIMEDOUT', 'TRANSIENT'],
	['M50 a cut after the dot', 'DOT', 'ECONNRESET', 'UNKNOWN'],
	['M50 a silence after the dot', 'DOT', 'ETIMEDOUT', 'UNKNOWN'],
	['M58 a line over the cap', 'EHLO', 'EPROTO', 'UNKNOWN'],
	['M58 a line over the cap after the dot', 'DOT', 'EPROTO', 'UNKNOWN'],
	['M58 what nobody knows', 'DATA', 'ESOMETHING', 'UNKNOWN'],
];

test.each(silences)('%s: at %s without a reply %s is %s', (name, stage, errno, category) => {
	expect(ofSilence(stage, errno)).toEqual({ row: name.split(' ')[0], category, ambiguous: stage === 'DOT', aboutAddress: false });
});

test.each<readonly [Stage, string, Category]>([
	['CONN', 'EHOSTREFUSED', 'CONFIG'],
	['CONFIG', 'EBADCONFIG', 'CONFIG'],
	['CONFIG', 'ECLOSED', 'TRANSIENT'],
	['AUTH', 'ENOCREDENTIALS', 'AUTH'],
	['RCPT', 'EBADMAIL', 'INVALID_INPUT'],
])('what the transport itself refuses has a category: at %s %s is %s', (stage, errno, category) => {
	expect(ofSilence(stage, errno)).toMatchObject({ category, ambiguous: false });
});

test('every row of the table but the two that accept is named by a case here', () => {
	const named = new Set([...replies, ...silences].map(([name]) => name.split(' ')[0]));
	const all = Array.from({ length: 60 }, (_, index) => `M${index + 1}`);
	expect(all.filter((id) => !named.has(id))).toEqual(['M42', 'M57']);
	const rows = new Set([...REPLY_ROWS, ...SILENCE_ROWS].map((row) => row.id));
	expect(all.filter((id) => !rows.has(id))).toEqual(['M42', 'M57']);
});

test('a whole reply beats the error that came after it', () => {
	expect(classifySmtp({ stage: 'RCPT', ...parseReply('550 5.1.1 no'), errno: 'ECONNRESET' }).category).toBe('PERMANENT');
});

test('text beats the enhanced code, and that beats the basic code', () => {
	expect(ofReply('RCPT', '550 5.1.1 relaying denied').row).toBe('M40');
	expect(ofReply('RCPT', '550 5.7.1 user unknown').row).toBe('M27');
	expect(ofReply('RCPT', '550 5.2.2 no').row).toBe('M36');
});

test.each([
	'550 5.7.1 blocked by policy',
	'550 5.1.1 rejected for the reputation of your IP: user unknown',
	'550 5.1.2 Helo command rejected: host not found',
	'550 5.1.1 sender unknown user',
	'550 5.1.8 Sender address rejected: Domain not found',
	'551 5.7.1 we do not relay',
	'550 5.1.1 用户不存在或被列入黑名单',
])('K37 a refusal that is about us never marks an address bad: %s', (reply) => {
	expect(ofReply('RCPT', reply).aboutAddress).toBe(false);
});

test('words in a mail address or a link decide nothing', () => {
	expect(ofReply('RCPT', '550 5.1.1 <daily-limit@spam.example>: user unknown, see https://relay.example/policy?block=1')).toMatchObject({
		row: 'M27',
		aboutAddress: true,
	});
});

test('only refusals for the number of recipients ask for a new transaction', () => {
	const asks = (reply: string): boolean => isForNumber({ stage: 'RCPT', ...parseReply(reply) });
	expect(asks('452 4.5.3 too many recipients')).toBe(true);
	expect(asks('552 5.5.3 too many recipients')).toBe(true);
	expect(asks('452 4.5.3 too many recipients today: daily limit')).toBe(false);
	expect(asks('452 4.2.2 mailbox full')).toBe(false);
});

test('the longest text that is kept is classified in a time that grows with its length, not faster', () => {
	const nasty = ['sender ', 'mailbox ', 'too many ', 'a@', 'http://', 'domain ', '用户', ' '].map((word) =>
		word.repeat(1_000).slice(0, 1_000),
	);
	for (const text of nasty) {
		for (const code of ['421', '450', '452', '550', '552', '554'])
			expect(classifySmtp({ stage: 'RCPT', code, enhancedCode: null, text, errno: null })).toBeDefined();
	}
});
