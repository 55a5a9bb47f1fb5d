import { expect, test } from '@jest/globals';
import { checkOutboundHost } from './outbound-host.js';

const names: Record<string, string[]> = {
	'mail.example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c', '93.184.215.14'],
	'xn--mnchen-3ya.example': ['93.184.215.15'],
	'inside.example.com': ['10.0.0.7'],
	'mixed.example.com': ['93.184.215.14', '169.254.169.254'],
	'mapped.example.com': ['::ffff:127.0.0.1'],
	'odd.example.com': ['not an address'],
	'empty.example.com': [],
	localhost: ['::1', '127.0.0.1'],
};
const asked: string[] = [];
const lookup = async (name: string): Promise<string[]> => {
	asked.push(name);
	const found = names[name];
	if (found === undefined) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
	return found;
};
const strict = { allowPrivate: false, lookup };

test('a public name is allowed and its addresses are handed back, each once, in order', async () => {
	expect(await checkOutboundHost('Mail.Example.COM.', strict)).toEqual({
		kind: 'allowed',
		addresses: [
			{ address: '93.184.215.14', family: 4 },
			{ address: '2606:2800:21f:cb07:6820:80da:af6b:8b2c', family: 6 },
		],
	});
	expect(await checkOutboundHost('münchen.example', strict)).toMatchObject({ kind: 'allowed', addresses: [{ address: '93.184.215.15' }] });
});

test('a public address is allowed without a look-up', async () => {
	asked.length = 0;
	expect(await checkOutboundHost('8.8.8.8', strict)).toEqual({ kind: 'allowed', addresses: [{ address: '8.8.8.8', family: 4 }] });
	expect(await checkOutboundHost('[2606:4700::1111]', strict)).toEqual({
		kind: 'allowed',
		addresses: [{ address: '2606:4700::1111', family: 6 }],
	});
	expect(await checkOutboundHost('0x08080808', strict)).toEqual({ kind: 'allowed', addresses: [{ address: '8.8.8.8', family: 4 }] });
	expect(asked).toEqual([]);
});

const PRIVATE = [
	...['127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '127.0.0.1.', '１２７.０.０.１', '0', '0.0.0.0'],
	...[
		'10.1.2.3',
		'172.16.0.1',
		'192.168.1.1',
		'169.254.169.254',
		'168.63.129.16',
		'100.64.0.1',
		'198.18.0.1',
		'192.0.2.1',
		'224.0.0.1',
		'240.0.0.1',
		'255.255.255.255',
	],
	...[
		'::1',
		'[::1]',
		'::',
		'::ffff:127.0.0.1',
		'[::ffff:7f00:1]',
		'::7f00:1',
		'::127.0.0.1',
		'::ffff:0:127.0.0.1',
		'64:ff9b::7f00:1',
		'2002:7f00:1::',
	],
	...['fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', '2001:db8::1', 'ff02::1', '2001::1', '4000::1'],
];

test.each(PRIVATE)('%s is refused as a literal, without a look-up', async (host) => {
	asked.length = 0;
	expect(await checkOutboundHost(host, strict)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('may not be dialled') });
	expect(asked).toEqual([]);
});

test.each(['localhost', 'inside.example.com', 'mixed.example.com', 'mapped.example.com', 'odd.example.com'])(
	'%s is refused because one of its addresses may not be dialled, and the reason tells no address',
	async (host) => {
		const checked = await checkOutboundHost(host, strict);
		if (checked.kind !== 'refused') throw new Error(checked.kind);
		expect(checked.reason).not.toMatch(/\d/);
	},
);

test.each([
	'',
	' ',
	'a b',
	'http://mail.example.com',
	'mail.example.com:25',
	'user@mail.example.com',
	'mail.example.com/x',
	'a..b',
	'-a.com',
	'1.2.3.4.5',
	'256.1.1.1',
	'fe80::1%eth0',
	'[mail.example.com]',
	'[127.0.0.1]',
	'%31.2.3.4',
	'a\0b',
	'a\r\nb',
	`${'a'.repeat(64)}.com`,
	`${'a.'.repeat(130)}com`,
])('%j is no host', async (host) => {
	asked.length = 0;
	expect(await checkOutboundHost(host, strict)).toEqual({ kind: 'refused', reason: 'this is not a host name or an IP address' });
	expect(asked).toEqual([]);
});

test('private addresses pass when the operator allows them, and are handed back pinned', async () => {
	const lax = { allowPrivate: true, lookup };
	expect(await checkOutboundHost('localhost', lax)).toEqual({
		kind: 'allowed',
		addresses: [
			{ address: '::1', family: 6 },
			{ address: '127.0.0.1', family: 4 },
		],
	});
	expect(await checkOutboundHost('0x7f.1', lax)).toMatchObject({ kind: 'allowed', addresses: [{ address: '127.0.0.1' }] });
	expect(await checkOutboundHost('::ffff:127.0.0.1', lax)).toMatchObject({
		kind: 'allowed',
		addresses: [{ address: '127.0.0.1', family: 4 }],
	});
});

test('a name that cannot be resolved now is unresolved, not refused', async () => {
	expect(await checkOutboundHost('absent.example.com', strict)).toEqual({
		kind: 'unresolved',
		reason: 'the name cannot be resolved (ENOTFOUND)',
	});
	expect(await checkOutboundHost('empty.example.com', strict)).toEqual({ kind: 'unresolved', reason: 'the name has no address' });
	const never = { allowPrivate: false, lookup: () => new Promise<string[]>(() => {}), timeoutMs: 5 };
	expect(await checkOutboundHost('slow.example.com', never)).toMatchObject({
		kind: 'unresolved',
		reason: expect.stringContaining('longer than 5 ms'),
	});
});

test('the system resolver knows localhost', async () => {
	expect(await checkOutboundHost('localhost', { allowPrivate: false })).toMatchObject({
		kind: 'refused',
		reason: expect.stringContaining('loopback'),
	});
});
