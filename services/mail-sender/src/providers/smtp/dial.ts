import { connect, type Socket } from 'node:net';
import { monotonic } from '@tidings/model';

/** What the look-up of a tenant-given host says: the addresses that may be dialled, or why none may. */
export type HostAnswer =
	| { readonly kind: 'allowed'; readonly addresses: readonly string[] }
	| { readonly kind: 'refused'; readonly reason: string }
	| { readonly kind: 'unresolved'; readonly reason: string };

/** Where to connect to. */
type Target = {
	readonly host: string;
	readonly port: number;
	/** Milliseconds for the look-up and all addresses together. */
	readonly connectMs: number;
	resolveHost(host: string): Promise<HostAnswer>;
};

/**
 * Looks a host up, has it checked, and connects to exactly what was checked. Rejects with an error whose `code` says why
 * (`EHOSTREFUSED`, `ENOTFOUND`, `ETIMEDOUT`, or the system's own).
 */
export async function dial(target: Target): Promise<Socket> {
	const end = monotonic() + target.connectMs;
	const answer = await withLimit(target.resolveHost(target.host), target.connectMs);
	if (answer.kind === 'refused') throw failure('EHOSTREFUSED', `the mail server's host cannot be used: ${answer.reason}`);
	if (answer.kind === 'unresolved') throw failure('ENOTFOUND', `the mail server's host cannot be used: ${answer.reason}`);
	let last: unknown = failure('ENOTFOUND', 'The host has no address.');
	for (const [index, address] of answer.addresses.entries()) {
		// An address that does not answer takes its share of the time, not that of the others.
		const share = (end - monotonic()) / (answer.addresses.length - index);
		try {
			return await connectTo(address, target.port, Math.max(1, share));
		} catch (error) {
			last = error;
		}
	}
	throw last;
}

function connectTo(address: string, port: number, milliseconds: number): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect({ host: address, port });
		const timer = setTimeout(() => socket.destroy(failure('ETIMEDOUT', 'The host did not answer.')), milliseconds);
		socket.once('connect', () => {
			clearTimeout(timer);
			socket.removeListener('error', onError);
			resolve(socket);
		});
		const onError = (error: Error): void => {
			clearTimeout(timer);
			reject(error);
		};
		socket.once('error', onError);
		// A reset between this hand-over and the library's own listener must not end the process; the socket closes all the same.
		socket.on('error', () => undefined);
	});
}

function withLimit<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(failure('ENOTFOUND', 'The look-up of the host took too long.')), milliseconds);
		promise.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}

function failure(code: string, reason: string): Error {
	return Object.assign(new Error(reason), { code });
}
