import { type AddressInfo, createServer, type Socket } from 'node:net';
import { closeLater } from './kit.js';

/** A server that does as told with each connection; answers its port. `closeAll` ends it. */
export async function serverThat(act: (socket: Socket, connection: number) => void): Promise<number> {
	const sockets = new Set<Socket>();
	let connection = 0;
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.on('error', () => undefined);
		act(socket, connection++);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	closeLater({
		close: () =>
			new Promise((resolve) => {
				for (const socket of sockets) socket.destroy();
				server.close(() => resolve());
			}),
	});
	return (server.address() as AddressInfo).port;
}

/** A polite server, but for what `odd` answers to a line; null leaves it at politeness. Bodies come to `odd` line by line too. */
export function politeBut(odd: (line: string, socket: Socket, connection: number) => string | null): Promise<number> {
	return serverThat((socket, connection) => {
		let rest = '';
		let body = false;
		socket.write('220 hi\r\n');
		socket.on('data', (chunk) => {
			const lines = (rest + chunk.toString('latin1')).split('\r\n');
			rest = lines.pop() ?? '';
			for (const line of lines) {
				const own = odd(line, socket, connection);
				if (own !== null) socket.write(own);
				else if (body) {
					if (line === '.') socket.write('250 2.0.0 Ok: queued as 4F2A7\r\n');
				} else socket.write(line === 'DATA' ? '354 go on\r\n' : '250 ok\r\n');
				body = line === 'DATA' || (body && line !== '.');
			}
		});
	});
}
