import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import {
	createMaskAnswer,
	hashOfAddress,
	maskAddress,
	maskAddressesIn,
	maskDedupeKey,
	readAddress,
	readDomain,
	storedDedupeKey,
} from './address.js';

test.each([
	['ann@example.com', 'ann@example.com'],
	[' Ann@EXAMPLE.Com\t', 'Ann@example.com'],
	["o'neil+tag/x=y@sub.example.co.uk", "o'neil+tag/x=y@sub.example.co.uk"],
	['ann@münchen.example', 'ann@xn--mnchen-3ya.example'],
	['ann@例え。テスト', 'ann@xn--r8jz45g.xn--zckzah'],
	['用户@example.com', '用户@example.com'],
	['ann@localhost', 'ann@localhost'],
	[`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
	['ann@1.example', 'ann@1.example'],
])('%j is the mailbox %j', (text, address) => {
	expect(readAddress(text)).toBe(address);
});

test.each([
	'',
	'ann',
	'@example.com',
	'ann@',
	'ann@@example.com',
	'ann@example.com, bo@example.com',
	'ann@example.com;bo@example.com',
	'ann@example.com bo@example.com',
	'Ann <ann@example.com>',
	'<ann@example.com>',
	'team: ann@example.com, bo@example.com;',
	'ann(comment)@example.com',
	'ann@example.com (comment)',
	'"ann"@example.com',
	'"a@other.example x"@internal.example',
	'a@other.example@internal.example',
	'.ann@example.com',
	'ann.@example.com',
	'a..b@example.com',
	'an n@example.com',
	'ann@exa mple.com',
	'ann@example..com',
	'ann@-example.com',
	'ann@example-.com',
	'ann@example.com.',
	'ann@exa_mple.com',
	'ann@127.0.0.1',
	'ann@[127.0.0.1]',
	'ann@[IPv6:::1]',
	'ann@１２７.0.0.1',
	'ann@0x7f.1',
	'ann@0x7f000001',
	'ann@exämple.com%00',
	'ann@ex%61mple.comü',
	'ann@ü/x.example',
	'ann\r\nBcc: bo@example.com',
	'ann@example.com\n',
	'an\0n@example.com',
	'an\u2028n@example.com',
	'an\u202en@example.com',
	'an\u200bn@example.com',
	'an\u00a0n@example.com',
	'an\ud800n@example.com',
	'an\ue000n@example.com',
	'an\u0378n@example.com',
	'an\u3000n@example.com',
	'ann\u{e0041}@example.com',
	`${'a'.repeat(65)}@example.com`,
	`${'王'.repeat(22)}@example.com`,
	`${'a'.repeat(60)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}.com`,
	`ann@${'a'.repeat(64)}.com`,
])('%j is no plain mailbox', (text) => {
	expect(readAddress(text)).toBeNull();
});

test('a domain is lower case and A-labels', () => {
	expect([readDomain('EXAMPLE.com'), readDomain('Bücher.example'), readDomain('10.0.0.1'), readDomain('a b')]).toEqual([
		'example.com',
		'xn--bcher-kva.example',
		null,
		null,
	]);
});

test('a dedupe key ends in the SHA-256 of the sorted addresses joined by LF', () => {
	const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
	expect(storedDedupeKey('k', ['b@example.com', 'a@example.com'])).toBe(`k:MAIL:${sha('a@example.com\nb@example.com')}`);
	expect(hashOfAddress('a@example.com').toString('hex')).toBe(sha('a@example.com'));
});

test('masked addresses show their first character and their domain, in answers too', () => {
	expect(maskAddress('ann@example.com')).toBe('a•••@example.com');
	expect(maskAddress('𠮷ann@example.com')).toBe('𠮷•••@example.com');
	expect(createMaskAnswer([])('5.1.1 <ann@example.com>: user "bo@example.org" unknown')).toBe(
		'5.1.1 <a•••@example.com>: user "b•••@example.org" unknown',
	);
});

test.each([
	['a@b', 'a•••@b'],
	['a@b@', 'a•••@'],
	['@a@b', '@•••@b'],
	['@b a@ @ @@', '@b a@ @ @@'],
	['to:<ann@b.c>,(bo@b.c)', 'to:<a•••@b.c>,(b•••@b.c)'],
	['a=b@c d', 'a•••@c d'],
])('the addresses in %j are masked: %j', (text, masked) => {
	expect(maskAddressesIn(text)).toBe(masked);
});

test('a long text without an address is looked through once, not once from each of its characters', async () => {
	const text = `${'a'.repeat(500_000)} @`;
	expect(maskAddressesIn(text) === text).toBe(true);
	// Lets the time limit of the test strike: a minute would have passed.
	await new Promise((resolve) => setTimeout(resolve));
});

test('an answer shows no local part of the own addresses, in whatever case and however it is written', () => {
	const mask = createMaskAnswer(['Ann.Lee+shop@example.com', "o'neil@example.com", '王小明@example.com', 'a@example.com']);
	expect(mask('550 5.1.1 user ann.lee+SHOP unknown (uid=LEE) at a.example.com')).toBe(
		'550 5.1.1 user a•••.l•••+S••• unknown (uid=L•••) at a.example.com',
	);
	expect(mask("no mailbox O'NEIL here, 王小明 neither; annex is fine")).toBe("no mailbox O'N••• here, 王••• neither; annex is fine");
	expect(mask('<ANN.LEE+shop@EXAMPLE.com>')).toBe('<A•••@EXAMPLE.com>');
});

test('a masked dedupe key keeps what the caller gave', () => {
	expect(maskDedupeKey(storedDedupeKey('k:MAIL:1', ['a@example.com']))).toBe('k:MAIL:1:MAIL:•••');
});
