import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Problem } from '@tidings/model';
import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
	interface FastifyRequest {
		/** The answer to be: when it closes, nothing of the request is held any more. */
		answer: ServerResponse;
	}
}

/** A body up to this size is not counted: the connections that there can be do not fill the memory with such. */
const SMALL_BYTES = 65_536;

/** Reads the body of a request, to be handed on by `parse`; what that throws is a refusal too. */
export type ReadBody = (request: FastifyRequest, payload: Readable, done: (error: Error | null, body?: unknown) => void) => void;

/**
 * Makes the reader of bodies. A body above `bodyLimit` bytes is refused with 413 as soon as that shows. The bytes of all bodies, from their arrival until their requests are
 * answered, are at most `bodiesLimit`: the one that goes beyond is dropped, read to its end, so that its sender hears the answer, and refused with 503. A lone body is never dropped.
 */
export function createReadBody(
	limits: { readonly bodyLimit: number; readonly bodiesLimit: number },
	parse: (request: FastifyRequest, raw: Buffer) => unknown,
): ReadBody {
	let held = 0;
	const tooLarge = (): Problem => new Problem('body-too-large', `The request is larger than ${limits.bodyLimit} bytes.`);
	return (request, payload, done) => {
		if (Number(request.headers['content-length']) > limits.bodyLimit) {
			done(tooLarge());
			return;
		}
		let chunks: Buffer[] = [];
		let size = 0;
		let counted = 0;
		let isDropped = false;
		const release = (): void => {
			held -= counted;
			counted = 0;
		};
		const finish = (error: Error | null): void => {
			payload.off('data', onData).off('end', onEnd).off('error', onError);
			const [first = EMPTY, ...more] = chunks;
			chunks = [];
			let body: unknown;
			let refusal = error;
			try {
				if (refusal === null) body = parse(request, more.length === 0 ? first : Buffer.concat([first, ...more], size));
			} catch (thrown) {
				refusal = thrown as Error;
			}
			done(refusal, body);
		};
		const onData = (chunk: Buffer): void => {
			size += chunk.length;
			if (size > limits.bodyLimit) finish(tooLarge());
			if (size > limits.bodyLimit || isDropped) return;
			chunks.push(chunk);
			if (size <= SMALL_BYTES) return;
			if (counted === 0) request.answer.once('close', release);
			held += size - counted;
			counted = size;
			if (held <= limits.bodiesLimit || held === counted) return;
			isDropped = true;
			chunks = [];
			release();
		};
		const onEnd = (): void => finish(isDropped ? overloaded() : null);
		const onError = (cause: Error): void => finish(new Problem('malformed-request', 'The request broke off.', { cause }));
		payload.on('data', onData).on('end', onEnd).on('error', onError);
	};
}

const EMPTY = Buffer.alloc(0);

function overloaded(): Problem {
	return new Problem('overloaded', 'More and larger requests are being received than fit in at once. Repeat this one.', {
		retryAfterSeconds: 1,
	});
}
