import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '../../../../../test/harness/eventually.js';
import { ann, bo, closeAll, inShort, mailTo, transportTo } from './testing/kit.js';
import { politeBut, serverThat } from './testing/odd-server.js';

afterEach(closeAll);

test('M58 a server that speaks another language is UNKNOWN', async () => {
	const port = await serverThat((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n'));
	const outcome = await transportTo(port).send(mailTo([ann]));
	expect(inShort(outcome)).toEqual(['0 UNKNOWN CONN - -']);
});

test('F28 a greeting that never ends is cut off at a limit', async () => {
	const port = await serverThat((socket) => socket.write(`220-${'x'.repeat(70_000)}`));
	expect(inShort(await transportTo(port).send(mailTo([ann])))).toEqual(['0 UNKNOWN CONN - -']);
});

test('F28 a server that drips its answer costs no more than the deadline', async () => {
	const port = await serverThat((socket) => {
		const timer = setInterval(() => socket.write('220-wait\r\n'), 10);
		socket.once('close', () => clearInterval(timer));
	});
	expect(inShort(await transportTo(port, {}, { deadlineMs: 3_000, readMs: 60_000 }).send(mailTo([ann])))).toEqual(['0 TRANSIENT CONN - -']);
});

test.each([
	['"250-" for ever', '250-and more\r\n'.repeat(1_000)],
	['a line of megabytes', 'x'.repeat(64_000)],
	['NUL for ever', '\0'.repeat(64_000)],
])('F28 a server that answers EHLO with %s is cut off at a limit, whatever comes after, and its socket is closed', async (_, piece) => {
	let sent = 0;
	let open = 0;
	const port = await serverThat((socket) => {
		open += 1;
		const pour = (): void => {
			while (!socket.destroyed && socket.write(piece)) sent += piece.length;
		};
		socket.on('drain', pour).once('data', () => {
			socket.write('250-');
			pour();
		});
		socket.once('close', () => {
			open -= 1;
		});
		socket.write('220 hi\r\n');
	});
	expect(inShort(await transportTo(port).send(mailTo([ann])))).toEqual(['0 UNKNOWN EHLO - -']);
	await eventually(() => open === 0, { what: 'the socket to be closed' });
	// What the sockets of both sides can hold comes on top of the limit.
	expect(sent).toBeLessThan(16_000_000);
});

test('the server’s own id is kept, and rubbish after the dot is ambiguous', async () => {
	expect(await transportTo(await politeBut(() => null)).send(mailTo([ann]))).toMatchObject({ providerMessageId: '4F2A7' });
	const port = await politeBut((line) => (line === '.' ? 'what?\r\n' : null));
	expect(await transportTo(port).send(mailTo([ann]))).toMatchObject({
		kind: 'ambiguous',
		category: 'UNKNOWN',
		text: expect.stringContaining('what?'),
	});
});

test.each(['250 ok', '552 5.3.4 too large'])(
	'after an early "%s" in the middle of a mail nothing more is sent on that connection',
	async (early) => {
		const seen: string[][] = [[], [], []];
		const port = await politeBut((line, _, connection) => {
			seen[connection]?.push(line);
			return connection === 0 && line === 'MARK' ? `${early}\r\n` : null;
		});
		const transport = transportTo(port, { slots: 1 });
		const attachments = [
			{ filename: 'a.bin', contentType: 'application/octet-stream', content: Buffer.alloc(20_000_000), contentId: null },
		];
		const outcome = await transport.send(mailTo([ann], { text: 'MARK\nMAIL FROM:<x@example.com>', attachments }));
		expect(inShort(outcome)).toEqual([early.startsWith('250') ? '0 UNKNOWN DATA - -' : '0 INVALID_INPUT DATA 552 5.3.4']);
		expect(inShort(await transport.send(mailTo([bo])))).toEqual(['0 accepted 250']);
		expect(seen[0]).not.toContain(`RCPT TO:<${bo}>`);
		expect(seen[0]).not.toContain('.');
		expect(seen[1]).toContain(`RCPT TO:<${bo}>`);
	},
);

test.each([
	['gives false', 'withheld', async () => false],
	['rejects', 'given-back', () => Promise.reject(new Error('nobody answers'))],
	[
		'throws',
		'given-back',
		() => {
			throw new Error('nobody answers');
		},
	],
])('when begin %s not a byte is sent, the mail is %s, and the next one goes out', async (_, kind, begin) => {
	const seen: string[][] = [[], []];
	const port = await politeBut((line, __, connection) => {
		seen[connection]?.push(line);
		return null;
	});
	const transport = transportTo(port, { slots: 1 });
	expect(await transport.send(mailTo([ann]), begin)).toEqual({ kind });
	expect(inShort(await transport.send(mailTo([bo]), async () => true))).toEqual(['0 accepted 250']);
	expect(seen[0]?.at(-1)).toBe('DATA');
});

test('a begin that outlasts the deadline hands not a byte over afterwards', async () => {
	const seen: string[] = [];
	const port = await politeBut((line) => {
		seen.push(line);
		return null;
	});
	let markIsMade: (mine: boolean) => void = () => undefined;
	const mark = new Promise<boolean>((resolve) => {
		markIsMade = resolve;
	});
	const transport = transportTo(port, {}, { deadlineMs: 3_000 });
	expect(inShort(await transport.send(mailTo([ann]), () => mark))).toEqual(['0 TRANSIENT DATA - -']);
	markIsMade(true);
	await transport.close();
	expect(seen.at(-1)).toBe('DATA');
});

test('K5 a connection that died while it was idle is replaced', async () => {
	const port = await politeBut((line, socket, connection) => {
		// Dies at the first word of its second mail, as a connection does whose server forgot it.
		if (connection === 0 && line.includes(bo)) socket.destroy();
		return connection === 0 && line.includes(bo) ? '' : null;
	});
	const transport = transportTo(port, { slots: 1 });
	await transport.send(mailTo([ann]));
	expect(inShort(await transport.send(mailTo([bo])))).toEqual(['0 accepted 250']);
});

test('begin is asked once, also when the connection dies before a byte was sent and another takes over', async () => {
	let asked = 0;
	let first: Socket | undefined;
	let reachedAgain: (mine: boolean) => void = () => undefined;
	const mark = new Promise<boolean>((resolve) => {
		reachedAgain = resolve;
	});
	const port = await politeBut((line, socket, connection) => {
		first ??= socket;
		if (connection === 1 && line === 'DATA') reachedAgain(true);
		return null;
	});
	const transport = transportTo(port, { slots: 1 });
	await transport.send(mailTo([ann]));
	const outcome = await transport.send(mailTo([bo]), () => {
		asked++;
		first?.destroy();
		return mark;
	});
	expect(inShort(outcome)).toEqual(['0 accepted 250']);
	expect(asked).toBe(1);
});

test.each<readonly [string, Parameters<typeof transportTo>[2], string]>([
	['a host that may not be dialled is CONFIG', { resolveHost: async () => ({ kind: 'refused', reason: 'private' }) }, '0 CONFIG CONN - -'],
	['a host that is not found is TRANSIENT', { resolveHost: async () => ({ kind: 'unresolved', reason: 'none' }) }, '0 TRANSIENT CONN - -'],
	[
		'a look-up that fails is TRANSIENT',
		{ resolveHost: () => Promise.reject(Object.assign(new Error('x'), { code: 'EAI_AGAIN' })) },
		'0 TRANSIENT CONN - -',
	],
	['a look-up that never ends is TRANSIENT', { resolveHost: () => new Promise(() => undefined), connectMs: 50 }, '0 TRANSIENT CONN - -'],
	['a port that nobody listens on is TRANSIENT', {}, '0 TRANSIENT CONN - -'],
])('%s', async (_, options, expected) => {
	expect(inShort(await transportTo(1, {}, options).send(mailTo([ann])))).toEqual([expected]);
});

test('the next address of a host is tried when the first does not answer', async () => {
	const port = await politeBut(() => null);
	const resolveHost = async () => ({ kind: 'allowed', addresses: ['127.0.0.2', '127.0.0.1'] }) as const;
	expect(inShort(await transportTo(port, {}, { resolveHost }).send(mailTo([ann])))).toEqual(['0 accepted 250']);
});

test('with credentials a server that has no log-in is refused, not used without', async () => {
	const port = await politeBut((line) => (line.startsWith('AUTH') ? '502 5.5.1 what?\r\n' : null));
	expect(inShort(await transportTo(port, { auth: { user: 'u', password: 'p' } }).send(mailTo([ann])))).toEqual(['0 CONFIG AUTH 502 5.5.1']);
});

test.each([
	['a DKIM key that is none', { dkim: { domain: 'example.com', selector: 's', privateKey: 'no key' } }],
	['a user name that hides another', { auth: { user: 'u\0v', password: 'p' } }],
])('%s is CONFIG before anything is dialled', async (_, config) => {
	expect(inShort(await transportTo(1, config).send(mailTo([ann])))).toEqual(['0 CONFIG CONFIG - -']);
});

test('close lets a mail under way end, takes no more, and leaves no connection', async () => {
	let open = 0;
	const port = await politeBut((line, socket) => {
		if (line.startsWith('MAIL')) socket.once('close', () => open--);
		if (line.startsWith('MAIL')) open++;
		return null;
	});
	const transport = transportTo(port);
	const first = transport.send(mailTo([ann]));
	const closed = transport.close();
	expect(inShort(await transport.send(mailTo([bo])))).toEqual(['0 TRANSIENT CONFIG - -']);
	expect(inShort(await first)).toEqual(['0 accepted 250']);
	await closed;
	expect(open).toBe(0);
});
