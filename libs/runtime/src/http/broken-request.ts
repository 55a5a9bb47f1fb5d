import type { Socket } from 'node:net';
import { continueTrace, Problem } from '@tidings/model';
import { renderProblem } from './problem.js';

/** Answers what is not HTTP at all, or came too slowly, and hangs up. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
	if (error.code === 'ECONNRESET' || !socket.writable) {
		socket.destroy();
		return;
	}
	const detail =
		error.code === 'HPE_HEADER_OVERFLOW'
			? 'The headers are too large.'
			: error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
				? 'The request did not arrive in time.'
				: 'This is not an HTTP request.';
	const { headers, body } = renderProblem(new Problem('malformed-request', detail), {
		instance: '',
		traceId: continueTrace(undefined).traceId,
	});
	const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }).map(
		([name, value]) => `${name}: ${value}\r\n`,
	);
	socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
}
