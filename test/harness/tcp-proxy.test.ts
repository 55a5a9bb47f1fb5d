import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from './eventually.js';
import { startProxy, type TcpProxy } from './tcp-proxy.js';

/** One side of a connection, and what came to it. */
type Side = { readonly socket: Socket; text: string; ended: boolean; error: string | undefined };

let server: Server;
let proxy: TcpProxy;
let accepted: Side[];
let clients: Side[];

/** A service that answers each chunk with `re:` and the chunk. */
beforeEach(async () => {
	accepted = [];
	clients = [];
	server = createServer((socket) => {
		accepted.push(watch(socket));
		socket.on('data', (chunk) => socket.write(`re:${chunk}`));
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');
	proxy = await startProxy({ host: '127.0.0.1', port: address.port });
});

afterEach(async () => {
	await proxy.close();
	for (const { socket } of [...clients, ...accepted]) socket.destroy();
	server.close();
});

function watch(socket: Socket): Side {
	const side: Side = { socket, text: '', ended: false, error: undefined };
	socket.on('data', (chunk) => {
		side.text += String(chunk);
	});
	socket.on('end', () => {
		side.ended = true;
	});
	socket.on('error', (error: NodeJS.ErrnoException) => {
		side.error = error.code;
	});
	return side;
}

function dial(): Side {
	const side = watch(connect(proxy.port, '127.0.0.1'));
	clients.push(side);
	return side;
}

async function says(side: Side, text: string): Promise<void> {
	await eventually(() => side.text === text, { what: `the text ${text}` });
}

test('bytes pass both ways, and an end is passed on', async () => {
	const client = dial();
	client.socket.write('a');
	await says(client, 're:a');
	expect(proxy.connections()).toBe(1);
	client.socket.end('b');
	await says(client, 're:are:b');
	await eventually(() => accepted[0]?.ended === true && client.ended);
	await eventually(() => proxy.connections() === 0);
});

test('a large body arrives whole', async () => {
	const client = dial();
	const body = 'x'.repeat(5_000_000);
	client.socket.end(body);
	await eventually(() => client.ended);
	expect(accepted[0]?.text.length).toBe(body.length);
	expect(client.text.replaceAll('re:', '').length).toBe(body.length);
});

test('a cut resets both sides, and new connections pass', async () => {
	const client = dial();
	client.socket.write('a');
	await says(client, 're:a');
	proxy.cut();
	await eventually(() => client.error === 'ECONNRESET' && accepted[0]?.error === 'ECONNRESET');
	expect(proxy.connections()).toBe(0);
	const next = dial();
	next.socket.write('b');
	await says(next, 're:b');
});

test('while new connections are refused, those that stand go on', async () => {
	const client = dial();
	client.socket.write('a');
	await says(client, 're:a');
	proxy.refuse(true);
	const refused = dial();
	await eventually(() => refused.error === 'ECONNRESET');
	client.socket.write('b');
	await says(client, 're:are:b');
	expect(accepted.length).toBe(1);
	proxy.refuse(false);
	const next = dial();
	next.socket.write('c');
	await says(next, 're:c');
});

test('a blackhole takes connections and swallows both ways; healing resets what it swallowed from', async () => {
	const standing = dial();
	standing.socket.write('a');
	await says(standing, 're:a');
	proxy.blackhole(true);
	standing.socket.write('lost');
	accepted[0]?.socket.write('lost');
	const late = dial();
	late.socket.write('lost');
	await eventually(() => proxy.connections() === 2 && accepted.length === 2);
	// A third connection, made after all the bytes, proves that they had their time.
	const third = dial();
	await once(third.socket, 'connect');
	await eventually(() => accepted.length === 3);
	expect(accepted.map(({ text }) => text)).toEqual(['a', '', '']);
	expect([standing.text, standing.error, late.error]).toEqual(['re:a', undefined, undefined]);
	proxy.heal();
	await eventually(() => standing.error === 'ECONNRESET' && late.error === 'ECONNRESET');
	third.socket.write('b');
	await says(third, 're:b');
});

test('half open, requests arrive and answers do not', async () => {
	const client = dial();
	await once(client.socket, 'connect');
	proxy.halfOpen('down');
	client.socket.write('a');
	await eventually(() => accepted[0]?.text === 'a');
	client.socket.write('b');
	await eventually(() => accepted[0]?.text === 'ab');
	expect([client.text, client.error]).toEqual(['', undefined]);
});

test('half open the other way, nothing arrives and the service may speak', async () => {
	const client = dial();
	await eventually(() => accepted.length === 1);
	proxy.halfOpen('up');
	client.socket.write('a');
	accepted[0]?.socket.write('hello');
	await says(client, 'hello');
	expect(accepted[0]?.text).toBe('');
});

test('latency puts every chunk off and keeps the order', async () => {
	const client = dial();
	await once(client.socket, 'connect');
	proxy.latency(100);
	const start = performance.now();
	client.socket.write('a');
	await eventually(() => accepted[0]?.text === 'a');
	client.socket.write('b');
	proxy.latency(0);
	client.socket.write('c');
	await says(accepted[0] ?? client, 'abc');
	await eventually(() => client.text.replaceAll('re:', '') === 'abc');
	expect(performance.now() - start).toBeGreaterThanOrEqual(99);
});

test.each(['up', 'down'] as const)('%s, so many bytes pass and then everything is cut', async (direction) => {
	const client = dial();
	const other = dial();
	await eventually(() => accepted.length === 2);
	proxy.cutAfter(5, direction);
	client.socket.write('abcdefgh');
	// A reset right behind the last bytes looks like an end to Node.
	await eventually(() => client.socket.closed && other.error === 'ECONNRESET');
	const reached = direction === 'up' ? accepted.find(({ text }) => text !== '')?.text : client.text;
	expect(reached).toBe(direction === 'up' ? 'abcde' : 're:ab');
	const next = dial();
	next.socket.write('again, more than five');
	await says(next, 're:again, more than five');
});
