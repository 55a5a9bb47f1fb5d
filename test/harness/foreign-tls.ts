import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

/** A certificate for somebody else, who is named in it; good for a hundred years, and guards nothing. */
export const CERTIFICATE_OF = 'mkcertperson0a1b';
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIB0zCCAXigAwIBAgIUQ9r5EmVJ0KnA15cZQ0bNRL9eZ6YwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQbWtjZXJ0cGVyc29uMGExYjAgFw0yNjExMzAyMTAyMDVaGA8y
MTI2MTEwNjIxMDIwNVowGzEZMBcGA1UEAwwQbWtjZXJ0cGVyc29uMGExYjBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABJmEUebayzk3aTGwjhD1mTV7JtNzWFmXwD6P
x3Aw6fTPuEYYYxi3a9AWga4Dd4F+noqBF/zkdlJRxir94uun30OjgZcwgZQwHQYD
VR0OBBYEFCo788z8Wj8nQ1nHeGHrdaaQdImIMB8GA1UdIwQYMBaAFCo788z8Wj8n
Q1nHeGHrdaaQdImIMA8GA1UdEwEB/wQFMAMBAf8wQQYDVR0RBDowOIIYbWtjZXJ0
cGVyc29uMGExYi5leGFtcGxlgRxta2NlcnRwZXJzb24wYTFiQGV4YW1wbGUuY29t
MAoGCCqGSM49BAMCA0kAMEYCIQDnyKBMQ1BVeoHd/xDI/k5J2IRKYRdQuDsSIqMW
3/VTBAIhANCyFVYtbaPGXtmx7Yg1IIeQSIHrpS7ye/zIeI8PVK3L
-----END CERTIFICATE-----
`;
const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJO49cirKR1Opqs49
yfEtz2TKgJW7+/CPyvD00KPPmmmhRANCAASZhFHm2ss5N2kxsI4Q9Zk1eybTc1hZ
l8A+j8dwMOn0z7hGGGMYt2vQFoGuA3eBfp6KgRf85HZSUcYq/eLrp99D
-----END PRIVATE KEY-----
`;

/** Listens with the certificate and speaks no word: nobody who checks it comes so far. */
export async function startForeignServer(): Promise<{ readonly port: number; close(): Promise<void> }> {
	const secureContext = createSecureContext({ key: CERTIFICATE_KEY, cert: CERTIFICATE });
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket.on('error', () => undefined));
		new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');
	return {
		port: address.port,
		close: async () => {
			for (const socket of sockets) socket.destroy();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}
