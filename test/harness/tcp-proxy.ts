import { connect, createServer, type Socket } from 'node:net';

/** Seen from the client: `up` is what it sends to the service, `down` what the service answers. */
export type Direction = 'up' | 'down';

/** A TCP proxy before a service, and the faults it can make. They hold for connections that stand and for new ones until `heal`. */
export type TcpProxy = {
	readonly port: number;
	/** Resets every connection on both sides; new ones are taken. */
	cut(): void;
	/** While on, new connections are reset at once. Those that stand go on. */
	refuse(on: boolean): void;
	/** While on, connections are taken and every byte is swallowed, both ways; nobody sees an end. What was swallowed never arrives. */
	blackhole(on: boolean): void;
	/** Swallows one direction only. */
	halfOpen(direction: Direction): void;
	/** Every chunk arrives this many milliseconds later, in each direction, in order. 0 ends it. */
	latency(ms: number): void;
	/** Lets this many further bytes through in that direction, over all connections together, then cuts as `cut` does, once. */
	cutAfter(bytes: number, direction: Direction): void;
	/** Ends every fault. A connection whose bytes were swallowed is reset: its two sides no longer agree. */
	heal(): void;
	/** How many connections stand. */
	connections(): number;
	/** Cuts everything and stops listening. */
	close(): Promise<void>;
};

type Pair = { readonly client: Socket; readonly service: Socket; swallowed: boolean };

/** Starts a proxy on a free port of 127.0.0.1 that leads to `host` and `port`. It passes everything on until it is told otherwise. */
export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
	const pairs = new Set<Pair>();
	const swallow = { up: false, down: false };
	let refused = false;
	let delay = 0;
	let budget: { bytes: number; direction: Direction } | undefined;

	const reset = (pair: Pair): void => {
		pairs.delete(pair);
		resetNow(pair.client);
		resetNow(pair.service);
	};
	const cut = (): void => {
		for (const pair of [...pairs]) reset(pair);
	};

	/** Passes one chunk on, or what of it the faults let through. */
	const deliver = (pair: Pair, direction: Direction, chunk: Buffer): void => {
		const [from, to] = direction === 'up' ? [pair.client, pair.service] : [pair.service, pair.client];
		if (swallow[direction]) {
			pair.swallowed = true;
			return;
		}
		if (budget?.direction === direction && chunk.length >= budget.bytes) {
			const last = chunk.subarray(0, budget.bytes);
			budget = undefined;
			// Only once the last bytes have left: a reset throws away what is queued.
			to.write(last, cut);
			from.pause();
			return;
		}
		if (budget?.direction === direction) budget.bytes -= chunk.length;
		if (!to.write(chunk)) {
			from.pause();
			to.once('drain', () => from.resume());
		}
	};

	const pipe = (pair: Pair, direction: Direction): void => {
		const [from, to] = direction === 'up' ? [pair.client, pair.service] : [pair.service, pair.client];
		let waiting = 0;
		let last = 0;
		const inOrder = (act: () => void): void => {
			if (delay === 0 && waiting === 0) return void act();
			waiting++;
			last = Math.max(last, performance.now() + delay);
			setTimeout(() => {
				waiting--;
				if (pairs.has(pair)) act();
			}, last - performance.now());
		};
		from.on('data', (chunk: Buffer) => inOrder(() => deliver(pair, direction, chunk)));
		from.on('end', () =>
			inOrder(() => {
				if (swallow[direction]) pair.swallowed = true;
				else to.end();
			}),
		);
		from.on('error', () => {
			if (swallow[direction]) pair.swallowed = true;
			else reset(pair);
		});
		from.on('close', () => {
			if (from.destroyed && to.destroyed) pairs.delete(pair);
		});
	};

	const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
		if (refused) return resetNow(client);
		const service = connect({ ...target, allowHalfOpen: true, noDelay: true });
		const pair = { client, service, swallowed: false };
		pairs.add(pair);
		pipe(pair, 'up');
		pipe(pair, 'down');
	});
	await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');

	return {
		port: address.port,
		cut,
		refuse: (on) => {
			refused = on;
		},
		blackhole: (on) => {
			swallow.up = on;
			swallow.down = on;
		},
		halfOpen: (direction) => {
			swallow[direction] = true;
		},
		latency: (ms) => {
			delay = ms;
		},
		cutAfter: (bytes, direction) => {
			budget = { bytes, direction };
		},
		heal: () => {
			refused = false;
			delay = 0;
			budget = undefined;
			swallow.up = false;
			swallow.down = false;
			for (const pair of [...pairs].filter(({ swallowed }) => swallowed)) reset(pair);
		},
		connections: () => pairs.size,
		close: async () => {
			cut();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

/** Resets a connection without the polite end that `resetAndDestroy` sends before: the other side must see an error. */
function resetNow(socket: Socket): void {
	if (!socket.connecting && !socket.writableEnded) Object.assign(socket, { resetAndClosing: true });
	socket.destroy();
}
