import { createServer, type IncomingMessage as HttpRequest, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../contract-kit.js';

/** A frame of the driver, as far as tests look at it. */
export type FakeFrame = {
	readonly type?: string;
	readonly context?: string;
	readonly payload?: string;
	readonly properties?: Readonly<Record<string, string>>;
	readonly messageId?: string;
	readonly permitMessages?: number;
};

/** A WebSocket connection of the driver. */
export type FakeSocket = {
	readonly path: string;
	readonly frames: FakeFrame[];
	send(frame: object): void;
	close(code: number): void;
	/** Reads nothing any more and sends bytes that are no frame. */
	garble(): void;
	cut(): void;
	open(): boolean;
	/** Calls `listener` at each ping of the driver. */
	onPing(listener: () => void): void;
};

/** A stand-in for Pulsar's web server that does what a test says; it is for what a real one does only when it is ill. */
export type FakePulsar = {
	readonly url: string;
	readonly adminUrl: string;
	/** Every connection that was accepted, oldest first. */
	readonly sockets: FakeSocket[];
	/** Every HTTP request, upgrades included: method, path with query, authorization. */
	readonly requests: { method: string; path: string; authorization: string | undefined }[];
	/** The status that refuses an upgrade; 101 accepts it. */
	upgrade: (path: string) => number;
	/** What the admin API answers. */
	admin: (method: string, path: string) => { status: number; body?: string; location?: string } | 'nothing';
	/** Called for each frame of the driver. */
	onFrame: (socket: FakeSocket, frame: FakeFrame) => void;
	/** Waits for the connection of that number whose path holds `text`. */
	socket(text: string, nth?: number): Promise<FakeSocket>;
	stop(): Promise<void>;
};

/** Starts one on a free port, or on the port of one that stopped. By default it accepts and confirms everything. */
export async function startFakePulsar({ autoPong = true, port = 0 } = {}): Promise<FakePulsar> {
	const server = createServer();
	const sockets: FakeSocket[] = [];
	const fake: FakePulsar = {
		url: '',
		adminUrl: '',
		sockets,
		requests: [],
		upgrade: () => 101,
		admin: () => ({ status: 200 }),
		onFrame: (socket, { context }) => {
			if (context !== undefined) socket.send({ result: 'ok', messageId: 'CB4QADAA', context });
		},
		async socket(text, nth = 0) {
			const matching = (): FakeSocket | undefined => sockets.filter(({ path }) => path.includes(text))[nth];
			await eventually(`connection ${nth} of ${text}`, () => matching() !== undefined);
			return matching() ?? Promise.reject(new Error('no connection'));
		},
		stop: () => stop(server, sockets),
	};
	serveAdmin(server, fake);
	serveSockets(server, fake, new WebSocketServer({ noServer: true, autoPong }));
	await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
	const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
	return Object.assign(fake, { url: `ws://${at}`, adminUrl: `http://${at}` });
}

function note(fake: FakePulsar, { method = '', url = '', headers }: HttpRequest): { method: string; path: string } {
	fake.requests.push({ method, path: url, authorization: headers.authorization });
	return { method, path: url };
}

function serveAdmin(server: Server, fake: FakePulsar): void {
	server.on('request', (request, response) => {
		const { method, path } = note(fake, request);
		const answer = fake.admin(method, path);
		if (answer === 'nothing') return;
		response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location });
		response.end(answer.body ?? '');
	});
}

function serveSockets(server: Server, fake: FakePulsar, webSockets: WebSocketServer): void {
	server.on('upgrade', (request, wire: Socket, head) => {
		const { path } = note(fake, request);
		const status = fake.upgrade(path);
		if (status === 101)
			webSockets.handleUpgrade(request, wire, head, (socket) => fake.sockets.push(fakeSocket(fake, { path, wire }, socket)));
		else wire.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
	});
}

function fakeSocket(fake: FakePulsar, { path, wire }: { path: string; wire: Socket }, socket: WebSocket): FakeSocket {
	const frames: FakeFrame[] = [];
	const one: FakeSocket = {
		path,
		frames,
		send: (frame) => socket.send(JSON.stringify(frame)),
		close: (code) => socket.close(code),
		garble: () => void wire.pause().write(Buffer.alloc(8, 0xff)),
		cut: () => socket.terminate(),
		open: () => socket.readyState === socket.OPEN,
		onPing: (listener) => void socket.on('ping', listener),
	};
	socket.on('error', () => undefined);
	socket.on('message', (data) => {
		const frame = JSON.parse(data.toString()) as FakeFrame;
		frames.push(frame);
		fake.onFrame(one, frame);
	});
	return one;
}

async function stop(server: Server, sockets: readonly FakeSocket[]): Promise<void> {
	const closed = new Promise((resolve) => server.close(resolve));
	for (const socket of sockets) socket.cut();
	server.closeAllConnections();
	await closed;
}
