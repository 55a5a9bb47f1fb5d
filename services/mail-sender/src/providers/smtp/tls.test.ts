import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterEach, expect, test } from '@jest/globals';
import { ann, closeAll, inShort, mailTo, transportTo } from './testing/kit.js';
import { serverThat } from './testing/odd-server.js';

afterEach(closeAll);

/** For mail.example.test, self-signed, good for a hundred years; guards nothing. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPzoWqnVR2gmWMVNk
vNUM6lVcGS2bWo4m4kl+aEW6zq+hRANCAAQF7I2eRbvDNrH0+mZhkUC/ppGRBKjk
cg706jyxNdChbPe//YdD13r3Pe3eSBu5I63BLMBeld/0EY8jA8ZJ0ZI+
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBrDCCAVOgAwIBAgIULbxtUka8/mz5T0LSW2bGy8OXN9wwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRbWFpbC5leGFtcGxlLnRlc3QwIBcNMjYxMTMwMTQ1NDQ1WhgP
MjEyNjExMDYxNDU0NDVaMBwxGjAYBgNVBAMMEW1haWwuZXhhbXBsZS50ZXN0MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEBeyNnkW7wzax9PpmYZFAv6aRkQSo5HIO
9Oo8sTXQoWz3v/2HQ9d69z3t3kgbuSOtwSzAXpXf9BGPIwPGSdGSPqNxMG8wHQYD
VR0OBBYEFLHZkMc+A33ZqhEJd7y7RZbTHyBuMB8GA1UdIwQYMBaAFLHZkMc+A33Z
qhEJd7y7RZbTHyBuMA8GA1UdEwEB/wQFMAMBAf8wHAYDVR0RBBUwE4IRbWFpbC5l
eGFtcGxlLnRlc3QwCgYIKoZIzj0EAwIDRwAwRAIgaSKnePb/eG1gM9UltuLqMAhp
vKoqoyPIeylfgQUeso8CIGoo2ri8tKIZNvJK4U7NqDK/027ABsKB9YBgOLECvohF
-----END CERTIFICATE-----`;

/** The same key and name, good for January 2020 alone. */
const expired = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFtYWlsLmV4
YW1wbGUudGVzdDAeFw0yMDAxMDEwMDAwMDBaFw0yMDAyMDEwMDAwMDBaMBwxGjAY
BgNVBAMMEW1haWwuZXhhbXBsZS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAEBeyNnkW7wzax9PpmYZFAv6aRkQSo5HIO9Oo8sTXQoWz3v/2HQ9d69z3t3kgb
uSOtwSzAXpXf9BGPIwPGSdGSPqNQME4wHAYDVR0RBBUwE4IRbWFpbC5leGFtcGxl
LnRlc3QwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUsdmQxz4DfdmqEQl3vLtF
ltMfIG4wCgYIKoZIzj0EAwIDSQAwRgIhAKOdrqphwW4McUb8y+XN19j1s/DO57uN
YvKB13z47FKMAiEAon+0Q5OfqeII+ag9luKpBiJyngbYE5VNTbIZ23pLxR0=
-----END CERTIFICATE-----`;

type Behaviour = {
	readonly security: 'starttls' | 'tls';
	readonly offers?: boolean;
	readonly afterStartTls?: 'tls' | 'reset' | 'refuse';
	readonly injects?: string;
	/** Default: the one that is good. */
	readonly cert?: string;
	/** More words after EHLO, on the open line alone. */
	readonly clearOnly?: string;
};

/** A server with TLS; `clear` holds each line that came over the open line. */
async function tlsServer(behaviour: Behaviour): Promise<{ port: number; clear: string[]; secret: string[] }> {
	const clear: string[] = [];
	const secret: string[] = [];
	const secure = (socket: Socket): TLSSocket => {
		const encrypted = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ key, cert: behaviour.cert ?? cert }) });
		return encrypted.on('error', () => undefined);
	};
	const converse = (socket: Socket, seen: string[], upgrades: boolean): void => {
		let body = false;
		if (upgrades || behaviour.security === 'tls') socket.write('220 hi\r\n');
		const onData = (chunk: Buffer): void => {
			for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
				seen.push(line);
				if (line === 'STARTTLS' && upgrades) {
					socket.removeListener('data', onData);
					upgrade(socket);
				} else if (line.startsWith('EHLO'))
					socket.write(
						`250-hi\r\n${upgrades && behaviour.offers !== false ? `250-STARTTLS\r\n${behaviour.clearOnly ?? ''}` : ''}250 AUTH PLAIN\r\n`,
					);
				else if (line.startsWith('AUTH')) socket.write('235 ok\r\n');
				else if (line === 'DATA') socket.write('354 go on\r\n');
				else if (!body || line === '.') socket.write('250 ok\r\n');
				body = line === 'DATA' || (body && line !== '.');
			}
		};
		socket.on('data', onData);
	};
	const upgrade = (socket: Socket): void => {
		if (behaviour.afterStartTls === 'refuse') return void socket.write('454 4.7.0 not now\r\n');
		if (behaviour.offers === false) return void socket.write('502 5.5.1 what?\r\n');
		socket.write(`220 go on\r\n${behaviour.injects ?? ''}`);
		if (behaviour.afterStartTls === 'reset') socket.once('data', () => socket.destroy());
		else converse(secure(socket), secret, false);
	};
	const port = await serverThat((socket) => {
		if (behaviour.security === 'tls') converse(secure(socket), secret, false);
		else converse(socket, clear, true);
	});
	return { port, clear, secret };
}

const auth = { user: 'u', password: 'p' };

test.each(['starttls', 'tls'] as const)('with %s everything but the greeting goes over the encrypted line', async (security) => {
	const server = await tlsServer({ security });
	const outcome = await transportTo(server.port, { security, auth }, { ca: cert }).send(mailTo([ann]));
	expect(inShort(outcome)).toEqual(['0 accepted 250']);
	expect(server.clear.map((line) => line.split(' ')[0])).toEqual(security === 'tls' ? [] : ['EHLO', 'STARTTLS']);
	expect(server.secret).toContain(`RCPT TO:<${ann}>`);
});

test.each(['starttls', 'tls'] as const)(
	'M6 F29 with %s a certificate for another host, or of an unknown maker, is CONFIG and nothing is said',
	async (security) => {
		const server = await tlsServer({ security });
		const other = transportTo(server.port, { security, auth, host: 'other.example.test' }, { ca: cert });
		expect(inShort(await other.send(mailTo([ann])))).toEqual(['0 CONFIG TLS - -']);
		const unknown = transportTo(server.port, { security, auth });
		expect(inShort(await unknown.send(mailTo([ann])))).toEqual(['0 CONFIG TLS - -']);
		expect([server.clear, server.secret].flat().filter((line) => /AUTH|MAIL/.test(line))).toEqual([]);
	},
);

test.each(['starttls', 'tls'] as const)(
	'M6 F29 with %s a certificate that has expired is CONFIG and nothing is said, though its maker is known',
	async (security) => {
		const server = await tlsServer({ security, cert: expired });
		const outcome = await transportTo(server.port, { security, auth }, { ca: expired }).send(mailTo([ann]));
		expect(inShort(outcome)).toEqual(['0 CONFIG TLS - -']);
		expect(outcome).toMatchObject({ recipients: [{ text: expect.stringMatching(/expired/i) }] });
		expect([server.clear, server.secret].flat().filter((line) => /AUTH|MAIL/.test(line))).toEqual([]);
	},
);

test('M8 F29 a server that does not offer STARTTLS is CONFIG, and nothing is said in clear', async () => {
	const server = await tlsServer({ security: 'starttls', offers: false });
	const outcome = await transportTo(server.port, { security: 'starttls', auth }, { ca: cert }).send(mailTo([ann]));
	expect(inShort(outcome)).toEqual(['0 CONFIG TLS 502 5.5.1']);
	expect(server.clear.filter((line) => /AUTH|MAIL/.test(line))).toEqual([]);
});

test('M7 M9 F29 a server that breaks off the handshake, or cannot do TLS now, is TRANSIENT', async () => {
	const later = await tlsServer({ security: 'starttls', afterStartTls: 'refuse' });
	expect(inShort(await transportTo(later.port, { security: 'starttls' }, { ca: cert }).send(mailTo([ann])))).toEqual([
		'0 TRANSIENT TLS 454 4.7.0',
	]);
	const cut = await tlsServer({ security: 'starttls', afterStartTls: 'reset' });
	expect(inShort(await transportTo(cut.port, { security: 'starttls' }, { ca: cert }).send(mailTo([ann])))).toEqual(['0 TRANSIENT TLS - -']);
});

test('a server without TLS on a TLS port is CONFIG', async () => {
	const plain = await tlsServer({ security: 'starttls' });
	expect(inShort(await transportTo(plain.port, { security: 'tls' }, { ca: cert }).send(mailTo([ann])))).toEqual(['0 CONFIG TLS - -']);
});

test('F29 words slipped in before the handshake count for nothing', async () => {
	const server = await tlsServer({ security: 'starttls', injects: '250-hi\r\n250 SMTPUTF8\r\n' });
	const outcome = await transportTo(server.port, { security: 'starttls' }, { ca: cert }).send(mailTo(['用户@example.org']));
	expect(inShort(outcome)).toEqual([expect.stringMatching(/^0 (INVALID_INPUT MAIL|CONFIG TLS) /)]);
	expect(server.secret.filter((line) => line.startsWith('RCPT'))).toEqual([]);
});

test('what a server offers before STARTTLS does not count', async () => {
	const server = await tlsServer({ security: 'starttls', clearOnly: '250-SMTPUTF8\r\n' });
	const transport = transportTo(server.port, { security: 'starttls' }, { ca: cert });
	expect(inShort(await transport.send(mailTo(['用户@example.org'])))).toEqual(['0 INVALID_INPUT MAIL - -']);
});
