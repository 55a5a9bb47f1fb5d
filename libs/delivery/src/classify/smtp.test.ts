import { expect, test } from '@jest/globals';
import type { Category, Stage } from '@tidings/model';
import { parseReply } from './parse-reply.js';
import { classifySmtp, isUnsure } from './smtp.js';

const replies: readonly (readonly [Stage, string, Category])[] = [
	['CONN', '554 5.3.2 no service here', 'CONFIG'],
	['CONN', '521 does not accept mail', 'CONFIG'],
	['CONN', '421 4.3.2 try again later', 'TRANSIENT'],
	['EHLO', '550 your name is refused', 'CONFIG'],
	['EHLO', '504 5.5.2 need a fully-qualified hostname', 'CONFIG'],
	['TLS', '502 5.5.1 command not implemented', 'CONFIG'],
	['TLS', '454 4.7.0 TLS not available due to temporary reason', 'TRANSIENT'],
	['AUTH', '535 5.7.8 authentication credentials invalid', 'AUTH'],
	['AUTH', '534 5.7.9 application-specific password required', 'AUTH'],
	['AUTH', '530 5.7.0 authentication required', 'AUTH'],
	['AUTH', '538 5.7.11 encryption required', 'CONFIG'],
	['AUTH', '504 5.5.4 mechanism not supported', 'CONFIG'],
	['AUTH', '454 4.7.0 temporary authentication failure', 'TRANSIENT'],
	['AUTH', '432 4.7.12 a password transition is needed', 'AUTH'],
	['AUTH', '421 4.7.0 too many failed logins', 'QUOTA'],
	['MAIL', '530 5.7.0 must issue a STARTTLS command first', 'CONFIG'],
	['MAIL', '530 5.7.57 client not authenticated', 'AUTH'],
	['MAIL', '553 5.1.7 bad sender address syntax', 'CONFIG'],
	['MAIL', '550 5.1.8 sender domain not found', 'CONFIG'],
	['MAIL', '552 5.3.4 message size exceeds fixed maximum message size', 'INVALID_INPUT'],
	['MAIL', '452 4.3.1 insufficient system storage', 'TRANSIENT'],
	['MAIL', '451 4.3.0 try again', 'TRANSIENT'],
	['RCPT', '553 5.7.1 <a@example.com>: sender address rejected: not owned by user b', 'CONFIG'],
	['RCPT', '550 5.1.1 user unknown', 'PERMANENT'],
	['RCPT', '550 5.1.2 no such domain', 'PERMANENT'],
	['RCPT', '550 user unknown', 'PERMANENT'],
	['RCPT', '553 5.1.3 bad address syntax', 'INVALID_INPUT'],
	['RCPT', '550 5.6.7 internationalised address not supported', 'INVALID_INPUT'],
	['RCPT', '554 5.7.1 <a@example.com>: relay access denied', 'CONFIG'],
	['RCPT', '550 5.7.1 unable to relay', 'CONFIG'],
	['RCPT', '550 5.1.1 <ann@relay.example>: user unknown', 'PERMANENT'],
	['RCPT', '554 5.7.1 client host blocked', 'PERMANENT'],
	['RCPT', '450 4.7.1 greylisted, try again later', 'TRANSIENT'],
	['RCPT', '452 4.2.2 mailbox over its storage limit', 'TRANSIENT'],
	['RCPT', '552 5.2.2 mailbox full', 'TRANSIENT'],
	['RCPT', '452 4.5.3 too many recipients', 'TRANSIENT'],
	['RCPT', '552 5.5.3 too many recipients', 'TRANSIENT'],
	['RCPT', '452 4.5.3 daily limit reached', 'QUOTA'],
	['RCPT', '450 4.2.1 the user is receiving mail too quickly', 'QUOTA'],
	['RCPT', '550 5.4.5 daily user sending limit exceeded', 'QUOTA'],
	['MAIL', '550 Ip frequency limited', 'QUOTA'],
	['MAIL', '421 4.7.28 unusual rate of unsolicited mail', 'QUOTA'],
	['MAIL', '421 4.3.2 service not available', 'TRANSIENT'],
	['MAIL', '454 Throttling failure: maximum sending rate exceeded', 'QUOTA'],
	['DOT', '554 message rejected: email address is not verified', 'CONFIG'],
	['DOT', '550 5.7.1 DMARC check failed', 'CONFIG'],
	['DOT', '550 5.7.1 content rejected', 'PERMANENT'],
	['DOT', '554 5.3.0 trouble', 'UNKNOWN'],
	['DOT', '552 5.3.4 too big', 'INVALID_INPUT'],
	['DATA', '503 5.5.1 bad sequence of commands', 'UNKNOWN'],
	['DATA', '250 ok', 'UNKNOWN'],
	// The digits disagree: the basic code decides, but for the rows that say otherwise.
	['RCPT', '450 5.1.1 user unknown', 'TRANSIENT'],
	['RCPT', '550 4.1.3 bad address syntax', 'PERMANENT'],
	['RCPT', '550 4.2.2 mailbox full', 'TRANSIENT'],
	['AUTH', '432 5.7.12 change your password', 'AUTH'],
];

test.each(replies)('at %s the reply "%s" is %s', (stage, reply, category) => {
	expect(classifySmtp({ stage, ...parseReply(reply), errno: null })).toBe(category);
});

test.each<readonly [Stage, string, Category]>([
	['CONN', 'ECONNREFUSED', 'TRANSIENT'],
	['CONN', 'ENOTFOUND', 'TRANSIENT'],
	['CONN', 'EHOSTREFUSED', 'CONFIG'],
	['CONFIG', 'EBADCONFIG', 'CONFIG'],
	['CONN', 'EPROTO', 'UNKNOWN'],
	['TLS', 'ECONNRESET', 'TRANSIENT'],
	['TLS', 'CERT_HAS_EXPIRED', 'CONFIG'],
	['TLS', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'CONFIG'],
	['AUTH', 'ENOCREDENTIALS', 'AUTH'],
	['MAIL', 'ENOSMTPUTF8', 'INVALID_INPUT'],
	['DATA', 'ECONNRESET', 'TRANSIENT'],
	['DATA', 'ESOMETHING', 'UNKNOWN'],
])('at %s without a reply %s is %s', (stage, errno, category) => {
	expect(classifySmtp({ stage, code: null, enhancedCode: null, text: '', errno })).toBe(category);
});

test('a whole reply beats the error that came after it', () => {
	expect(classifySmtp({ stage: 'RCPT', ...parseReply('550 5.1.1 no'), errno: 'ECONNRESET' })).toBe('PERMANENT');
});

test('what nobody can read is UNKNOWN', () => {
	expect(classifySmtp({ stage: 'CONN', ...parseReply('HTTP/1.1 400 Bad Request'), errno: null })).toBe('UNKNOWN');
});

test('only a time-out of the server itself after the dot leaves it open', () => {
	expect(isUnsure({ stage: 'DOT', ...parseReply('451 4.4.2 bad connection') })).toBe(true);
	expect(isUnsure({ stage: 'DOT', ...parseReply('451 timeout waiting for the queue') })).toBe(true);
	expect(isUnsure({ stage: 'DOT', ...parseReply('451 4.3.0 queue file write error') })).toBe(false);
	expect(isUnsure({ stage: 'RCPT', ...parseReply('451 4.4.2 timed out') })).toBe(false);
});
