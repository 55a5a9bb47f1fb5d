import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { Part } from '../part.js';

/** A listening API server as a part, and where it listens. */
export type HttpPart = Part & {
	/** `http://host:port`, without a path; only after `start`. */
	address(): string;
};

/**
 * Lets a server listen. `port` 0 is any free one; `host` default: all addresses.
 * `stop` takes no further connection, answers what came in, and lets connections go as they fall idle.
 */
export function httpPart(app: FastifyInstance, options: { readonly port: number; readonly host?: string }): HttpPart {
	let stopping = false;
	// Tells the client to open another connection, elsewhere; and without it the connection would stay open, and the stop wait for it.
	app.addHook('onSend', (_request, reply, _payload, done) => {
		if (stopping) reply.header('connection', 'close');
		done();
	});
	return {
		name: 'http',
		start: async () => {
			await app.listen({ port: options.port, host: options.host ?? everywhere() });
		},
		stop: async () => {
			stopping = true;
			await app.close();
		},
		address: () => {
			const { address, family, port } = app.server.address() as AddressInfo;
			const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
			return `http://${host}:${port}`;
		},
	};
}

/** All addresses of this machine; one without IPv6 refuses `::`. */
function everywhere(): string {
	return Object.values(networkInterfaces()).some((list) => list?.some((one) => one.family === 'IPv6')) ? '::' : '0.0.0.0';
}
