import type { ClientRequest, IncomingMessage as HttpResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';

/** What to connect to. */
export type DialOptions = {
	readonly url: string;
	readonly token: string | undefined;
	/** How long the connection may take to stand, in milliseconds. */
	readonly timeoutMs: number;
	/** How often the broker must show that it still answers, in milliseconds; default 20,000. */
	readonly pingMs?: number;
	/** Gives up while it is not standing yet. */
	readonly signal: AbortSignal;
};

/** What comes of a connection. */
export type LineHandlers = {
	onText(text: string): void;
	/** Called once, at the end of a connection that stood, for whatever reason. */
	onEnd(end: { readonly code: number; readonly reason: string }): void;
};

/** A connection that stands. */
export type Line = {
	/** Does nothing when the connection has ended; one that is ending ends now, for nobody would answer. */
	send(text: string): void;
	/** Ends it politely: what was sent before is read by the broker. Resolves when it has ended, by force when the broker does not answer. */
	close(): Promise<void>;
	/** Ends it now. */
	cut(): void;
};

/**
 * How an attempt to connect ended.
 * - `no-topic`: the broker has no such topic
 * - `failed`: the broker answers, but not with a connection
 * - `away`: nobody answers, or the broker does not accept the token
 */
export type Dialled =
	| { readonly kind: 'open'; readonly line: Line }
	| { readonly kind: 'no-topic' | 'failed' | 'away'; readonly reason: string };

const PING_MS = 20_000;
const CLOSE_MS = 2_000;
/** A message of the broker's own limit, as base64 in JSON, with room for one that a larger limit let in. */
const MOST_FRAME_BYTES = 32 * 1024 * 1024;

/** Connects to the WebSocket API. Never rejects. */
export function dial(options: DialOptions, handlers: LineHandlers): Promise<Dialled> {
	const { url, token, timeoutMs, signal } = options;
	const socket = new WebSocket(url, {
		headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
		handshakeTimeout: timeoutMs,
		maxPayload: MOST_FRAME_BYTES,
		perMessageDeflate: false,
	});
	return new Promise((resolve) => {
		const giveUp = (): void => socket.terminate();
		const done = (dialled: Dialled): void => {
			signal.removeEventListener('abort', giveUp);
			resolve(dialled);
		};
		// Without a listener of errors they would end the process; what follows an error is a close.
		socket.on('error', (error) => done({ kind: 'away', reason: signal.aborted ? 'given up' : reasonOf(error) }));
		socket.on('unexpected-response', (request, response) => {
			done(refusal(response));
			leave(request, response);
		});
		let wire: Socket | undefined;
		socket.on('upgrade', (response) => {
			wire = response.socket;
		});
		socket.on('open', () => done({ kind: 'open', line: lineOf({ socket, wire }, options.pingMs ?? PING_MS, handlers) }));
		signal.addEventListener('abort', giveUp);
		if (signal.aborted) giveUp();
	});
}

function leave(request: ClientRequest, response: HttpResponse): void {
	response.on('error', () => undefined);
	request.destroy();
}

function refusal({ statusCode = 0 }: HttpResponse): Dialled {
	switch (statusCode) {
		case 401:
			return { kind: 'away', reason: 'the broker does not accept the token (401)' };
		case 403:
			return { kind: 'failed', reason: 'the broker does not allow this token to use the topic (403)' };
		case 404:
			return { kind: 'no-topic', reason: 'there is no such topic' };
		default:
			return { kind: 'failed', reason: `the broker answered ${statusCode} instead of a connection` };
	}
}

/** A connection, and the TCP or TLS socket that carries it. */
type Ends = { readonly socket: WebSocket; readonly wire: Socket | undefined };

function lineOf({ socket, wire }: Ends, pingMs: number, { onText, onEnd }: LineHandlers): Line {
	let silent = false;
	let ended = false;
	let answered = true;
	const pings = setInterval(() => {
		if (!answered) {
			silent = true;
			socket.terminate();
			return;
		}
		answered = false;
		socket.ping();
	}, pingMs);
	socket.on('pong', () => {
		answered = true;
	});
	socket.on('message', (data) => {
		if (!ended) onText(data.toString());
	});
	const closed = new Promise<void>((resolve) => {
		socket.on('close', (code, text) => {
			ended = true;
			clearInterval(pings);
			resolve();
			onEnd({
				code,
				reason: silent ? 'the broker stopped answering' : `the connection ended (${code}${text.length > 0 ? ` ${text}` : ''})`,
			});
		});
	});
	// What is sent in one turn of the event loop leaves in one write, for most of what a small frame costs is a system call of its own.
	let gathering = false;
	const gather = (): void => {
		if (gathering) return;
		gathering = true;
		wire?.cork();
		process.nextTick(() => {
			gathering = false;
			wire?.uncork();
		});
	};
	return {
		send(text) {
			// A failure to write ends the connection, and that is told.
			if (socket.readyState !== WebSocket.OPEN) return socket.terminate();
			gather();
			socket.send(text, () => undefined);
		},
		async close() {
			socket.close(1000);
			const force = setTimeout(() => socket.terminate(), CLOSE_MS);
			await closed;
			clearTimeout(force);
		},
		cut: () => socket.terminate(),
	};
}

function reasonOf(error: Error): string {
	const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message;
	return `the broker cannot be reached: ${code}`;
}
